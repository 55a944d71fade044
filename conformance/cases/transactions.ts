import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import type { Answer } from '../client.ts';
import { allowed, expectProblem, expectTime, expectXmlProblem, mediaType } from '../expect.ts';
import { createParticipants } from '../participants.ts';
import { createManager, hasLink, type Transaction, TX } from '../transactions.ts';
import { contentOfJson, contentOfXml } from '../twins.ts';
import type { World } from '../world.ts';

const GOOD = ['1', '30000', '3600000', 'PT30S', 'PT1M', 'PT0.5S', 'PT1H', 'PT1M30S', 'P0DT10S'];
const BAD = ['', 'soon', '0', '-1', '1.5', '30s', 'PT', 'P', 'PT0S', 'PT2H', '3600001', 'P1M', '1e3', 'PT-5S', 'pt5s'];

/** Creating, looking at and ending transactions, apart from how their participants behave. */
export function transactions(world: World): void {
  const { client } = world;
  const manager = createManager(world);
  const remote = createParticipants();
  after(() => remote.close());

  const create = async (body: string, type = TX, accept?: string): Promise<Answer> =>
    client.post(await world.link('transaction-manager'), {
      headers: { 'content-type': type, ...(accept === undefined ? {} : { accept }) },
      body,
    });

  it('B2 a timeout is milliseconds or a duration, echoed as given', async () => {
    for (const timeout of GOOD) {
      const answer = (await create(`<transaction timeout="${timeout}"/>`)).expect(200);
      assert.equal(answer.xml().attributes.timeout, timeout);
      const { created = '', expires = '' } = answer.xml().attributes;
      expectTime(created, 'created');
      expectTime(expires, 'expires');
      assert.ok(Date.parse(expires) > Date.parse(created), timeout);
    }
  });

  it('B2 milliseconds and durations mean the same time', async () => {
    const lives = ['30000', 'PT30S', 'PT0.5M'].map(async (timeout) => {
      const { attributes } = (await create(`<transaction timeout="${timeout}"/>`)).expect(200).xml();
      return Date.parse(attributes.expires ?? '') - Date.parse(attributes.created ?? '');
    });
    assert.deepEqual(await Promise.all(lives), [30_000, 30_000, 30_000]);
  });

  it('B2 without a timeout it is 60 s', async () => {
    const { attributes } = (await create('<transaction/>')).expect(200).xml();
    assert.equal(Date.parse(attributes.expires ?? '') - Date.parse(attributes.created ?? ''), 60_000);
  });

  it('B2 an unreadable timeout is 422 and creates nothing', async () => {
    for (const timeout of BAD) {
      const problem = expectProblem(await create(`<transaction timeout="${timeout}"/>`), 422);
      assert.ok(
        problem.errors?.some(({ pointer }) => pointer === '/timeout'),
        timeout,
      );
    }
  });

  it('B what cannot be read is 400, another type 415', async () => {
    expectProblem(await create('<transaction'), 400);
    expectProblem(await create('<other timeout="1000"/>'), 400, 422);
    expectProblem(await create('<!DOCTYPE x><transaction timeout="1000"/>'), 400);
    expectProblem(await create('timeout', 'text/plain'), 415);
  });

  it('B1 a fresh transaction is uncommitted and can be committed or rolled back', async () => {
    const transaction = await manager.begin();
    const shown = await manager.look(transaction);
    assert.equal(shown.attributes.state, 'uncommitted');
    assert.ok(hasLink(shown, 'commit') && hasLink(shown, 'rollback') && hasLink(shown, 'participants'));
    (await manager.end(transaction, 'rolled-back')).expect(200);
    const over = await manager.look(transaction);
    assert.ok(!hasLink(over, 'commit') && !hasLink(over, 'rollback'));
    expectTime(over.attributes.finished, 'finished');
  });

  it('B4 another state is 422, DELETE 405, and nothing changes', async () => {
    const transaction = await manager.begin();
    for (const state of ['prepared', 'uncommitted', 'heuristic-mixed', '', 'COMMITTED']) {
      const body = `<transaction state="${state}"/>`;
      expectProblem(await client.post(transaction.address, { headers: { 'content-type': TX }, body }), 422);
    }
    expectProblem(
      await client.post(transaction.address, { headers: { 'content-type': TX }, body: '<transaction/>' }),
      422,
    );
    assert.ok(!allowed(expectMethod(await client.delete(transaction.address))).includes('DELETE'));
    assert.equal(await manager.stateOf(transaction), 'uncommitted');
  });

  it('B4 respond-async: 202, then polling ends in a final state', async () => {
    const transaction = await manager.begin();
    const one = await remote.participant();
    (await manager.register(transaction, [one.uri])).expect(201);
    one.trick('prepared', ['silent']);
    const answer = (await manager.commit(transaction, { prefer: 'respond-async' })).expect(202);
    assert.equal(answer.headers['preference-applied'], 'respond-async');
    assert.ok(Number(answer.headers['retry-after']) >= 0);
    assert.equal(client.store(answer.headers.location ?? ''), transaction.address);
    one.release();
    assert.equal(await manager.ended(transaction), 'committed');
    (await manager.commit(transaction, { prefer: 'respond-async' })).expect(200);
  });

  it('B4 a failed commit is a problem with the member transaction, in JSON and in XML', async () => {
    const transaction = await manager.begin();
    const one = await remote.participant();
    (await manager.register(transaction, [one.uri])).expect(201);
    one.trick('prepared', [409], true);
    const problem = expectProblem(await manager.commit(transaction, { accept: 'application/json' }), 409);
    const told = problem.transaction as { state: string; participant: { uri: string }; reason: string };
    assert.equal(told.participant.uri, one.uri);
    assert.match(told.reason, /refused/);
    const xml = expectXmlProblem(await manager.commit(transaction, { accept: TX }), 409);
    assert.ok(xml.children.some(({ name }) => name === 'transaction'));
  });

  it('G4 JSON and XML say the same of a transaction and its participants', async () => {
    const transaction = await manager.begin();
    const one = await remote.participant();
    (await manager.link(transaction, `<${one.uri}>; rel="bank"; type="application/tx-state+xml"`)).expect(204);
    const { href } = manager.on(transaction.address);
    for (const round of ['open', 'over']) {
      const json = (await client.get(href, { headers: { accept: 'application/json' } })).expect(200);
      const xml = (await client.get(href, { headers: { accept: TX } })).expect(200);
      assert.equal(mediaType(xml), TX);
      assert.deepEqual(contentOfJson(json.json()), contentOfXml(xml.xml(), 'participant'), round);
      if (round === 'open') (await manager.commit(transaction)).expect(200);
    }
  });

  it('G4 a whole transaction in JSON', async () => {
    const answer = (await create('{"timeout":"PT30S"}', 'application/json', 'application/json')).expect(200);
    assert.equal(mediaType(answer), 'application/json');
    const at = client.store(answer.headers.location ?? '');
    const one = await remote.participant();
    const participants = client.store(answer.link('participants'));
    (await client.post(participants, { headers: { 'content-type': 'text/uri-list' }, body: one.uri })).expect(201);
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const committed = (await client.post(at, { headers, body: '{"state":"committed"}' })).expect(200);
    assert.equal(committed.json().state, 'committed');
    assert.equal(one.state, 'committed');
  });

  it('B9 the manager lists transactions, newest first, by state, in pages', async () => {
    const made: Transaction[] = [];
    for (let i = 0; i < 3; i++) made.push(await manager.begin());
    (await manager.end(made[1] ?? assert.fail(), 'rolled-back')).expect(200);
    const at = await world.link('transaction-manager');
    type List = { items: { state: string; links: { rel: string; href: string }[] }[] };
    const list = async (query: Record<string, string>) => {
      const { items } = (await client.get(at, { query, headers: { accept: 'application/json' } }))
        .expect(200)
        .json<List>();
      return items.map(({ state, links }) => ({
        state,
        at: client.store(links.find(({ rel }) => rel === 'self')?.href ?? ''),
      }));
    };
    const open = await list({ state: 'uncommitted', per_page: '1000' });
    assert.ok(open.every(({ state }) => state === 'uncommitted'));
    const places = [made[2], made[0]].map((each) => open.findIndex(({ at }) => at === each?.address));
    // Numbers are given to nodes in blocks: only one node keeps the order of creation to the single transaction.
    assert.ok(places.every((place) => place >= 0));
    if (client.bases.length === 1) assert.ok((places[0] ?? 0) < (places[1] ?? 0));
    assert.ok(!open.some(({ at: each }) => each === made[1]?.address));
    assert.ok(
      (await list({ state: 'rolled-back', per_page: '1000' })).some(({ at: each }) => each === made[1]?.address),
    );
    const page = (await client.get(at, { query: { per_page: 1 } })).expect(200);
    (await client.get(page.link('next'))).expect(200);
    expectProblem(await client.get(at, { query: { state: 'lost' } }), 400);
  });

  it('B9 the document shows kind, state, tries and last error of each participant', async () => {
    const transaction = await manager.begin();
    const one = await remote.participant();
    (await manager.link(transaction, `<${one.uri}>; rel="bank"`)).expect(204);
    one.trick('prepared', [503, 503], true);
    (await manager.commit(transaction, { prefer: 'respond-async' })).expect(202);
    await world.until('it has been tried', async () => one.seen.length > 1);
    const [shown] = (await manager.look(transaction)).children.filter(({ name }) => name === 'participant');
    assert.equal(shown?.attributes.kind, 'bank');
    assert.equal(shown?.attributes.state, undefined);
    assert.ok(Number(shown?.attributes.tries) > 0);
    assert.match(shown?.children.find(({ name }) => name === 'last-error')?.text ?? '', /503/);
    one.release();
    assert.equal(await manager.ended(transaction), 'committed');
  });

  it('B an unknown transaction is 404 in every way', async () => {
    const unknown = (await manager.begin()).address.replace(/[^/]+$/, 'nosuchtransaction');
    expectProblem(await client.get(unknown), 404);
    expectProblem(await manager.commit({ address: unknown, participants: '' }), 404);
    expectProblem(
      await manager.register({ address: unknown, participants: `${unknown}/participants` }, ['http://127.0.0.1:9/x']),
      404,
    );
  });
}

function expectMethod(answer: Answer): Answer {
  expectProblem(answer, 405);
  return answer;
}
