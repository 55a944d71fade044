import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectAbsolute, expectProblem, expectTime } from '../expect.ts';
import { countsOf, follow, partLink, partsOf, poll, settle, stateOf, textsOf } from '../steps.ts';
import type { World } from '../world.ts';

export function poller(world: World): void {
  const { client } = world;

  it('A14 the poller gives the message, Content-Location of the real one and an acknowledgement link', async () => {
    const queue = await world.queue();
    const headers = { 'content-type': 'text/x-job', 'x-mine': 'yes' };
    const posted = (await client.post(queue.address, { headers, body: 'job' })).expect(204);
    const answer = (await client.post(await follow(world, queue, 'poller'))).expect(200);
    assert.equal(answer.text(), 'job');
    assert.equal(answer.headers['content-type'], 'text/x-job');
    assert.equal(answer.headers['x-mine'], 'yes');
    expectAbsolute(answer.headers['content-location'], 'Content-Location');
    const message = client.store(posted.headers.location ?? '');
    assert.equal(client.store(answer.headers['content-location']), message);
    assert.equal(client.store(answer.link('self')), message);
    assert.equal(client.store(answer.link('generator')), queue.address);
    expectAbsolute(answer.link('acknowledgement'), 'acknowledgement');
    assert.equal(answer.headers['message-state'], 'leased');
    assert.equal(answer.headers['delivery-count'], '1');
    assert.ok(answer.headers['message-id']);
    expectTime(answer.headers['message-posted'], 'Message-Posted');
    assert.match(answer.headers['cache-control'] ?? '', /no-store/);
  });

  it('A14 a leased message is hidden from pollers, receivers and lookers, on every node', async () => {
    const queue = await world.queue();
    await world.post(queue, ['leased']);
    const { message } = await poll(world, queue);
    const at = await follow(world, queue, 'poller');
    for (const _ of client.bases) {
      (await client.post(at)).expect(204);
      (await client.post(queue.receiving)).expect(204);
      (await client.get(queue.receiving)).expect(204);
      assert.equal(await stateOf(client, message), 'leased');
    }
    assert.deepEqual(await countsOf(client, queue), { available: 0, delayed: 0, leased: 1, dead: 0 });
  });

  it('A14 the message itself does not show the acknowledgement link: it belongs to the delivery', async () => {
    const queue = await world.queue();
    await world.post(queue, ['x']);
    assert.ok(!(await client.get((await poll(world, queue)).message)).has('acknowledgement'));
  });

  it('A14 who receives for good gets no acknowledgement link', async () => {
    const queue = await world.queue();
    await world.post(queue, ['x']);
    assert.ok(!(await client.post(queue.receiving)).expect(200).has('acknowledgement'));
  });

  it('A8 no message now is 204 with the links repeated', async () => {
    const queue = await world.queue();
    const at = await follow(world, queue, 'poller');
    const answer = (await client.post(at)).expect(204);
    assert.equal(client.store(answer.link('poller')), at);
    assert.match(answer.headers['cache-control'] ?? '', /no-store/);
    await world.post(queue, ['come']);
    assert.equal((await client.post(client.store(answer.link('poller')))).expect(200).text(), 'come');
  });

  it('A14 GET on the poller is 405: it would change the queue', async () => {
    const queue = await world.queue();
    await world.post(queue, ['x']);
    expectProblem(await client.get(await follow(world, queue, 'poller')), 405);
    assert.deepEqual(await world.drain(queue), ['x']);
  });

  it('A9 a waiting poller is woken by a post on any node', async () => {
    const queue = await world.queue();
    const at = await follow(world, queue, 'poller');
    for (const base of client.bases) {
      const waiting = await world.startWaiting('POST', at);
      (await client.post(`${base}${queue.address}`, { body: base })).expect(204);
      assert.equal((await waiting.answer).expect(200).text(), base);
    }
  });

  it('A9 a waiting poller is woken by a message that is given back', async () => {
    const queue = await world.queue();
    const at = await follow(world, queue, 'poller');
    for (const _ of client.bases) {
      await world.post(queue, ['back']);
      const { acknowledgement } = await poll(world, queue);
      const waiting = await world.startWaiting('POST', at);
      (await settle(client, acknowledgement, { acknowledge: 'false' })).expect(204);
      const answer = (await waiting.answer).expect(200);
      assert.equal(answer.headers['delivery-count'], '2');
      (await settle(client, client.store(answer.link('acknowledgement')), { acknowledge: 'true' })).expect(204);
    }
  });

  it('A14 each message is leased once, however many poll at once', async () => {
    const queue = await world.queue();
    const texts = Array.from({ length: 20 }, (_, i) => `m${i}`);
    await world.post(queue, texts);
    const at = await follow(world, queue, 'poller');
    const answers = await Promise.all(Array.from({ length: 30 }, () => client.post(at)));
    const leased = answers.filter((answer) => answer.expect(200, 204).status === 200);
    assert.deepEqual(leased.map((answer) => answer.text()).sort(), texts.sort());
    assert.equal(new Set(leased.map((answer) => answer.link('acknowledgement'))).size, texts.length);
  });

  it('A14 max leases up to so many, in order, each with an acknowledgement of its own', async () => {
    const queue = await world.queue();
    const addresses = await world.post(queue, ['a', 'b', 'c', 'd']);
    const at = await follow(world, queue, 'poller');
    const parts = partsOf((await client.post(at, { query: { max: 3 } })).expect(200));
    assert.deepEqual(
      parts.map(({ headers }) => client.store(headers['content-location'] ?? '')),
      addresses.slice(0, 3),
    );
    for (const part of parts) {
      assert.equal(part.headers['message-state'], 'leased');
      assert.equal(part.headers['delivery-count'], '1');
      assert.equal(partLink(part, 'self'), part.headers['content-location']);
      assert.equal(client.store(partLink(part, 'generator')), queue.address);
    }
    const [a = '', b = '', c = ''] = parts.map((part) => client.store(partLink(part, 'acknowledgement')));
    assert.equal(new Set([a, b, c]).size, 3);
    (await settle(client, a, { acknowledge: 'true' })).expect(204);
    (await settle(client, b, { acknowledge: 'false' })).expect(204);
    (await settle(client, c, { acknowledge: 'true' })).expect(204);
    assert.deepEqual(textsOf((await client.post(at, { query: { max: 10 } })).expect(200)), ['b', 'd']);
    (await client.post(at, { query: { max: 10 } })).expect(204);
  });

  it('A14 a max that cannot be read is 400 and leases nothing', async () => {
    const queue = await world.queue();
    await world.post(queue, ['x']);
    const at = await follow(world, queue, 'poller');
    for (const max of ['0', '-1', 'all', '1.5', '']) expectProblem(await client.post(at, { query: { max } }), 400);
    assert.deepEqual(await world.drain(queue), ['x']);
  });

  it('A9 nothing is leased for a client that has hung up', async () => {
    const queue = await world.queue();
    const at = await follow(world, queue, 'poller');
    await world.hangUp(await world.startWaiting('POST', at));
    await world.post(queue, ['x']);
    // A look that was under way when the client hung up may have found it; then it is put back at once, not when the lease ends.
    const answer = (await client.post(at, { headers: { 'accept-wait': '20' } })).expect(200);
    assert.equal(answer.headers['delivery-count'], '1');
  });

  it('G4 a message is never lost to its Accept: content comes as it is', async () => {
    const queue = await world.queue();
    await world.post(queue, ['a', 'b']);
    const at = await follow(world, queue, 'poller');
    const headers = { accept: 'image/png' };
    assert.equal((await client.post(at, { headers })).expect(200).text(), 'a');
    assert.deepEqual(textsOf((await client.post(at, { headers, query: { max: 5 } })).expect(200)), ['b']);
  });

  it('A9 an Accept-Wait that cannot be read is 400 and leases nothing; Prefer: wait is its synonym', async () => {
    const queue = await world.queue();
    const at = await follow(world, queue, 'poller');
    await world.post(queue, ['x']);
    for (const wait of ['', 'soon', '-1', '1e3']) {
      expectProblem(await client.post(at, { headers: { 'accept-wait': wait } }), 400);
    }
    assert.deepEqual(await world.drain(queue), ['x']);
    const exchange = client.begin('POST', at, { headers: { prefer: 'wait=30' } });
    await exchange.sent;
    await world.post(queue, ['y']);
    assert.equal((await exchange.answer).expect(200).text(), 'y');
  });

  it('A14 a message under an id of the client’s own is polled and settled like any other', async () => {
    const queue = await world.queue();
    const message = queue.message('own~id-1.x_');
    (await client.put(message, { body: 'own' })).expect(201);
    const delivery = await poll(world, queue);
    assert.equal(delivery.message, message);
    (await settle(client, delivery.acknowledgement, { acknowledge: 'false' })).expect(204);
    (await settle(client, (await poll(world, queue)).acknowledgement, { acknowledge: 'true' })).expect(204);
    assert.equal(await stateOf(client, message), 'acknowledged');
    (await client.put(message, { body: 'own' })).expect(200);
    (await client.post(queue.receiving)).expect(204);
  });
}
