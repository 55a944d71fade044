import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { Answer } from '../client.ts';
import { expectProblem, expectTime } from '../expect.ts';
import { createParticipants, type Participant } from '../participants.ts';
import { createManager, type Transaction } from '../transactions.ts';
import { contentOfJson, contentOfXml } from '../twins.ts';
import type { World } from '../world.ts';

type Notice = {
  kind: string;
  detail: string;
  acknowledged?: { at: string; by: string; why: string };
  links: { rel: string; href: string; title?: string }[];
};

const STUCK_CASES = 6;

/** What a person is told, and by what links a person acts (B8). */
export function operator(world: World): void {
  const { client } = world;
  const manager = createManager(world);
  const remote = createParticipants();
  after(() => remote.close());
  const JSON_TYPE = { 'content-type': 'application/json', accept: 'application/json' };

  type Stuck = { transaction: Transaction; one: Participant; notice: Notice; at: string };

  /** Decided, but one participant does not confirm. */
  async function getStuck(): Promise<Stuck> {
    const one = await remote.participant();
    const transaction = await manager.begin();
    (await manager.register(transaction, [one.uri])).expect(201);
    one.trick('committed', [503], true);
    (await manager.commit(transaction, { prefer: 'respond-async' })).expect(202);
    const notice = await noticeAbout(transaction);
    assert.ok(one.seen.filter((each) => each === 'committed').length >= 3, 'three tries at least');
    return { transaction, one, notice, at: linkOf(notice, 'self') };
  }

  // Three tries take seconds: they are taken side by side for all cases, each of which has one of its own.
  const ready: Stuck[] = [];
  before(async () => {
    ready.push(...(await Promise.all(Array.from({ length: STUCK_CASES }, getStuck))));
  });
  const stuck = (): Stuck => ready.shift() ?? assert.fail('there are more cases than that');

  it('B8 the list of notices leads to the topic that tells of them, by a link', async () => {
    for (const accept of ['application/json', 'application/xml']) {
      const list = (await client.get(await world.link('operator-notices'), { headers: { accept } })).expect(200);
      const topic = (await client.get(list.link('events'))).expect(200);
      for (const rel of ['first', 'last', 'next']) (await client.get(topic.link(rel))).expect(200, 204);
    }
  });

  async function noticeAbout(transaction: Transaction, status = 'open'): Promise<Notice> {
    let found: Notice | undefined;
    await world.until('there is a notice', async () => {
      const at = await world.link('operator-notices');
      const query = { per_page: 1000, status };
      const list = (await client.get(at, { query, headers: { accept: 'application/json' } })).expect(200);
      const { items } = list.json<{ items: Notice[] }>();
      found = items.find(({ links }) => links.some((link) => client.store(link.href) === transaction.address));
      return found !== undefined;
    });
    return found ?? assert.fail();
  }

  const linkOf = ({ links }: Notice, rel: string): string =>
    client.store(links.find((link) => link.rel === rel)?.href ?? assert.fail(`no link ${rel}`));
  const act = (at: string, body: object): Promise<Answer> =>
    client.post(at, { headers: JSON_TYPE, body: JSON.stringify(body) });

  it('B8 three failed tries in phase two: a notice; retry-now brings it to its end', async () => {
    const { transaction, one, notice } = stuck();
    assert.match(notice.detail, /503/);
    one.release();
    (await client.post(linkOf(notice, 'retry-now'))).expect(204);
    assert.equal(await manager.ended(transaction), 'committed');
  });

  it('B8 the topic operator-notices has it as a CloudEvent, and takes no posts', async () => {
    const root = await client.root();
    const topic = client.store(root.template('topic').replace('{name}', 'operator-notices'));
    expectProblem(await client.post(topic, { body: 'x' }), 403);
    const { transaction, one } = stuck();
    // The newest may be about another transaction: walk from the first on.
    let event = (await client.get(client.store((await client.head(topic)).expect(200).link('first')))).expect(200);
    const about = (answer: Answer) => client.store(answer.has('about') ? answer.link('about') : '');
    while (about(event) !== transaction.address)
      event = (await client.get(client.store(event.link('next')))).expect(200);
    assert.equal(event.headers['ce-specversion'], '1.0');
    assert.match(event.headers['ce-type'] ?? '', /operator-notice.*stuck/);
    expectTime(event.headers['ce-time'], 'ce-time');
    assert.ok(event.headers['ce-id'] && event.headers['ce-source']);
    one.release();
    (await client.post(linkOf(await noticeAbout(transaction), 'retry-now'))).expect(204);
    assert.equal(await manager.ended(transaction), 'committed');
  });

  it('B8 resolve records who, when and why; the decision stays', async () => {
    const { transaction, one, notice } = stuck();
    const at = linkOf(notice, 'resolve');
    expectProblem(await act(at, { outcome: 'committed' }), 422);
    expectProblem(await act(at, { outcome: 'perhaps', by: 'ada', why: 'x' }), 422);
    const answer = (await act(at, { outcome: 'committed', by: 'ada', why: 'done by telephone' })).expect(200);
    assert.equal(answer.json().state, 'committed');
    type Shown = { items: { state: string; resolved: { by: string; why: string; at: string; outcome: string } }[] };
    const shown = (await client.get(transaction.address, { headers: { accept: 'application/json' } })).json<Shown>();
    const resolved = shown.items[0]?.resolved;
    assert.deepEqual([resolved?.by, resolved?.why, resolved?.outcome], ['ada', 'done by telephone', 'committed']);
    expectTime(resolved?.at, 'at');
    expectProblem(await act(at, { outcome: 'rolled-back', by: 'eve', why: 'x' }), 409);
    assert.equal(await manager.stateOf(transaction), 'committed');
    assert.equal(one.state, 'prepared');
    (await manager.commit(transaction)).expect(200);
  });

  for (const [outcome, state] of [
    ['rolled-back', 'heuristic-rollback'],
    ['unknown', 'heuristic-hazard'],
  ] as const) {
    it(`B8 resolved as ${outcome}: ${state}, and a notice of that`, async () => {
      const { transaction, notice } = stuck();
      (await act(linkOf(notice, 'acknowledge'), { by: 'ada', why: 'looking' })).expect(200);
      (await act(linkOf(notice, 'resolve'), { outcome, by: 'ada', why: 'the disk is gone' })).expect(200);
      assert.equal(await manager.stateOf(transaction), state);
      assert.match((await noticeAbout(transaction)).detail, new RegExp(outcome === 'unknown' ? 'hazard' : 'rollback'));
      expectProblem(await manager.commit(transaction), 409);
    });
  }

  it('B8 acknowledge takes a notice off the list and keeps who and why', async () => {
    const { transaction, one, notice, at } = stuck();
    (await act(linkOf(notice, 'acknowledge'), { by: 'ada', why: 'known outage' })).expect(200);
    (await act(linkOf(notice, 'acknowledge'), { by: 'eve', why: 'too late' })).expect(200);
    const kept = (await client.get(at, { headers: { accept: 'application/json' } })).expect(200).json<Notice>();
    assert.deepEqual([kept.acknowledged?.by, kept.acknowledged?.why], ['ada', 'known outage']);
    expectTime(kept.acknowledged?.at, 'at');
    assert.ok(!kept.links.some(({ rel }) => rel === 'acknowledge'));
    assert.equal((await noticeAbout(transaction, 'all')).kind, notice.kind);
    one.release();
    (await client.post(linkOf(notice, 'retry-now'))).expect(204);
    assert.equal(await manager.ended(transaction), 'committed');
  });

  it('B8 any heuristic outcome raises a notice; the twins say the same', async () => {
    const one = await remote.participant();
    const transaction = await manager.begin();
    (await manager.register(transaction, [one.uri])).expect(201);
    one.trick('prepared', [200]);
    one.state = 'rolled-back';
    expectProblem(await manager.commit(transaction), 409);
    const notice = await noticeAbout(transaction);
    assert.match(notice.kind, /heuristic/);
    const { href } = manager.on(linkOf(notice, 'self'));
    const json = (await client.get(href, { headers: { accept: 'application/json' } })).expect(200);
    const xml = (await client.get(href, { headers: { accept: 'application/xml' } })).expect(200);
    assert.deepEqual(contentOfJson(json.json()), contentOfXml(xml.xml()));
  });
}
