import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { expectProblem } from '../expect.ts';
import { createParticipants } from '../participants.ts';
import { createManager, flight, type Transaction } from '../transactions.ts';
import type { World } from '../world.ts';

export function registering(world: World): void {
  const { client } = world;
  const manager = createManager(world);
  const remote = createParticipants();
  after(() => remote.close());

  const count = async (transaction: Transaction): Promise<number> =>
    (await manager.look(transaction)).children.filter(({ name }) => name === 'participant').length;

  for (const type of ['text/uri-list', 'uri-list', 'text/uri-list; charset=utf-8']) {
    it(`B3 ${type}: 201 with Location, comments skipped, the same again 200`, async () => {
      const [one, two] = [await remote.participant(), await remote.participant()];
      const transaction = await manager.begin();
      const lines = ['# who takes part', one.uri, '', two.uri];
      const first = (await manager.register(transaction, lines, type)).expect(201);
      (await client.get(client.store(first.headers.location ?? ''))).expect(200);
      (await manager.register(transaction, [two.uri], type)).expect(200);
      assert.equal(await count(transaction), 2);
    });
  }

  it('B3 LINK registers several together, and rel is shown as kind', async () => {
    const [one, two] = [await remote.participant(), await remote.participant()];
    const transaction = await manager.begin();
    const field = `<${one.uri}>; rel="bank"; type="application/tx-state+xml", <${two.uri}>; rel="shop"`;
    (await manager.link(transaction, field)).expect(204);
    (await manager.link(transaction, field)).expect(204);
    const shown = (await manager.look(transaction)).children.filter(({ name }) => name === 'participant');
    assert.deepEqual(shown.map(({ attributes }) => attributes.kind).sort(), ['bank', 'shop']);
  });

  it('B3 several register together or not at all', async () => {
    const one = await remote.participant();
    const transaction = await manager.begin();
    for (const bad of ['ftp://example.org/x', 'not a uri', 'urn:x:y', 'http://169.254.169.254/latest', '/nowhere']) {
      expectProblem(await manager.register(transaction, [one.uri, bad]), 422);
      assert.equal(await count(transaction), 0, bad);
    }
    expectProblem(await manager.link(transaction, `<${one.uri}>; rel="a", <ftp://example.org/x>; rel="b"`), 422);
    expectProblem(await manager.register(transaction, ['# nothing']), 422);
    expectProblem(await manager.register(transaction, [one.uri], 'text/plain'), 415);
    expectProblem(await client.send('LINK', transaction.participants), 400);
    assert.equal(await count(transaction), 0);
  });

  it('B3 one spelt in two ways is one participant', async () => {
    const one = await remote.participant();
    const transaction = await manager.begin();
    (await manager.register(transaction, [one.uri])).expect(201);
    (await manager.register(transaction, [`${one.uri.replace('http:', 'HTTP:')}#part`])).expect(200);
    assert.equal(await count(transaction), 1);
  });

  it('B3 a reservation here has registered itself, and localhost and 127.0.0.1 are one', async () => {
    const transaction = await manager.begin();
    const { state } = await manager.reserve('airline', transaction, flight(world));
    assert.equal(await count(transaction), 1);
    const { base, href } = manager.on(state);
    const spelt = new Set([
      href,
      href.replace('//127.0.0.1', '//localhost'),
      href.replace('//localhost', '//127.0.0.1'),
    ]);
    for (const uri of spelt) {
      const answer = await client.post(`${base}${transaction.participants}`, {
        headers: { 'content-type': 'text/uri-list' },
        body: uri,
      });
      answer.expect(200);
    }
    assert.equal(await count(transaction), 1);
    (await manager.commit(transaction)).expect(200);
  });

  it('B3 finished is 410', async () => {
    const one = await remote.participant();
    const transaction = await manager.begin();
    (await manager.end(transaction, 'rolled-back')).expect(200);
    expectProblem(await manager.register(transaction, [one.uri]), 410);
    expectProblem(await manager.link(transaction, `<${one.uri}>; rel="late"`), 410);
  });

  it('D at most 256 participants (409), all or none', async () => {
    const one = await remote.participant();
    const transaction = await manager.begin();
    const uris = Array.from({ length: 257 }, (_, i) => `${one.uri}?n=${i}`);
    expectProblem(await manager.register(transaction, uris), 409);
    assert.equal(await count(transaction), 0);
    (await manager.register(transaction, uris.slice(1))).expect(201);
    expectProblem(await manager.register(transaction, uris.slice(0, 1)), 409);
    (await manager.end(transaction, 'rolled-back', { prefer: 'respond-async' })).expect(200, 202);
  });

  it('B12 a reservation obeys its own transaction only', async () => {
    const [its, other] = [await manager.begin(), await manager.begin()];
    const { state } = await manager.reserve('airline', its, flight(world));
    const { base, href } = manager.on(state);
    const headers = { 'content-type': 'text/uri-list' };
    (await client.post(`${base}${other.participants}`, { headers, body: href })).expect(201);
    expectProblem(await manager.commit(other), 409);
    assert.equal((await client.get(state)).expect(200).xml().attributes.state, undefined);
    (await manager.commit(its)).expect(200);
  });
}
