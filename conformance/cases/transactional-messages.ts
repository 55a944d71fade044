import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem } from '../expect.ts';
import { BATCH, createWays } from '../posting-ways.ts';
import { countsOf, follow, poll } from '../steps.ts';
import { createManager, flight, type Transaction } from '../transactions.ts';
import type { World } from '../world.ts';

export function transactionalMessages(world: World): void {
  const { client } = world;
  const manager = createManager(world);
  const { inside, send, waysOf } = createWays(world, manager);

  async function messagesOf(transaction: Transaction): Promise<string[]> {
    const shown = (await manager.look(transaction)).children.filter(({ name }) => name === 'participant');
    return shown.map(({ attributes }) => attributes.kind ?? '');
  }

  for (const name of ['direct', 'post-message', 'post-message-once', 'post-batch', 'post-batch-once', 'put'] as const) {
    it(`B13 posted by ${name}: seen by nobody until the commit`, async () => {
      const queue = await world.queue();
      const way = (await waysOf(queue))[name] ?? assert.fail();
      const transaction = await manager.begin();
      (await way.postIn(transaction)).expect(way.okay);
      (await client.post(queue.receiving)).expect(204);
      (await client.get(queue.receiving)).expect(204);
      assert.deepEqual(await messagesOf(transaction), ['messages']);
      (await manager.commit(transaction)).expect(200);
      assert.deepEqual(await world.drain(queue), way.posts);
    });

    it(`B13 posted by ${name}: gone after the rollback, and its id or link is free again`, async () => {
      const queue = await world.queue();
      const way = (await waysOf(queue))[name] ?? assert.fail();
      const transaction = await manager.begin();
      (await way.postIn(transaction)).expect(way.okay);
      (await manager.end(transaction, 'rolled-back')).expect(200);
      (await client.post(queue.receiving)).expect(204);
      (await way.post()).expect(way.okay);
      assert.deepEqual(await world.drain(queue), way.posts);
    });
  }

  for (const name of ['direct', 'post-message', 'post-message-once', 'post-batch', 'post-batch-once'] as const) {
    it(`B13 posted to a topic by ${name}: seen in its order after the commit, never after a rollback`, async () => {
      const topic = await world.topic();
      const ways = await waysOf(topic);
      const way = ways[name] ?? assert.fail();
      const [kept, dropped] = [await manager.begin(), await manager.begin()];
      const next = client.store((await client.head(topic.address)).expect(200).link('next'));
      (await way.postIn(kept)).expect(way.okay);
      (await send('POST', ways.direct?.at ?? '', dropped, { body: 'dropped' })).expect(204);
      (await client.get(next)).expect(204);
      await world.post(topic, ['earlier']);
      (await manager.commit(kept)).expect(200);
      (await manager.end(dropped, 'rolled-back')).expect(200);
      const read: string[] = [];
      let at = next;
      for (let answer = await client.get(at); answer.status === 200; answer = await client.get(at)) {
        read.push(answer.text());
        at = client.store(answer.link('next'));
      }
      assert.deepEqual(read, ['earlier', ...way.posts]);
    });
  }

  it('B13 several posts of one transaction appear together and in order', async () => {
    const queue = await world.queue();
    const transaction = await manager.begin();
    const texts = Array.from({ length: 8 }, (_, i) => `m${i}`);
    const first = client.bases[0] ?? '';
    const link = `<${first}${transaction.address}>; rel="transaction"`;
    for (const body of texts) (await client.post(`${first}${queue.address}`, { headers: { link }, body })).expect(204);
    assert.deepEqual(await messagesOf(transaction), ['messages']);
    (await manager.commit(transaction)).expect(200);
    assert.deepEqual(await world.drain(queue), texts);
  });

  it('B13 a waiter is woken by the commit', async () => {
    const queue = await world.queue();
    const transaction = await manager.begin();
    (await send('POST', queue.address, transaction, { body: 'come' })).expect(204);
    const waiting = await world.startWaiting('POST', queue.receiving);
    (await manager.commit(transaction)).expect(200);
    assert.equal((await waiting.answer).expect(200).text(), 'come');
  });

  it('B13 delay, ttl and priority count', async () => {
    const queue = await world.queue();
    const transaction = await manager.begin();
    (await send('POST', queue.address, transaction, { body: 'late', query: { delay: 1 } })).expect(204);
    (await send('POST', queue.address, transaction, { body: 'over', query: { ttl: 0.001 } })).expect(204);
    (await send('POST', queue.address, transaction, { body: 'second' })).expect(204);
    (await send('POST', queue.address, transaction, { body: 'first', query: { priority: 9 } })).expect(204);
    (await manager.commit(transaction)).expect(200);
    for (const text of ['first', 'second', 'late']) {
      const received = await client.post(queue.receiving, { headers: { 'accept-wait': '20' } });
      assert.equal(received.expect(200).text(), text);
    }
    (await client.post(queue.receiving)).expect(204);
  });

  for (const rel of ['receiving', 'poller'] as const) {
    it(`B13 taken by ${rel}: acknowledged by the commit`, async () => {
      const queue = await world.queue();
      const [message = ''] = await world.post(queue, ['one']);
      const at = client.store((await client.head(queue.address)).link(rel));
      const transaction = await manager.begin();
      const taken = (await send('POST', at, transaction)).expect(200);
      assert.equal(taken.text(), 'one');
      assert.ok(!taken.has('acknowledgement'), 'the transaction acknowledges, nobody else');
      assert.equal((await client.get(message)).expect(200).headers['message-state'], 'leased');
      (await client.post(queue.receiving)).expect(204);
      // Leased to the transaction; what is posted in one does not show at all.
      const other = await manager.begin();
      (await send('POST', queue.address, other, { body: 'unseen' })).expect(204);
      assert.deepEqual(await countsOf(client, queue), { available: 0, delayed: 0, leased: 1, dead: 0 });
      (await manager.end(other, 'rolled-back')).expect(200);
      assert.deepEqual(await messagesOf(transaction), ['messages']);
      (await manager.commit(transaction)).expect(200);
      assert.deepEqual(await countsOf(client, queue), { available: 0, delayed: 0, leased: 0, dead: 0 });
      assert.equal((await client.get(message)).expect(200).headers['message-state'], 'acknowledged');
      (await client.post(queue.receiving)).expect(204);
    });

    it(`B13 taken by ${rel}: back in its place after the rollback`, async () => {
      const queue = await world.queue({ lease: 1 });
      await world.post(queue, ['one', 'two']);
      const at = client.store((await client.head(queue.address)).link(rel));
      const transaction = await manager.begin();
      assert.equal((await send('POST', at, transaction)).expect(200).text(), 'one');
      (await manager.end(transaction, 'rolled-back')).expect(200);
      const again = (await client.post(queue.receiving)).expect(200);
      assert.deepEqual([again.text(), again.headers['delivery-count']], ['one', '2']);
      assert.deepEqual(await world.drain(queue), ['two']);
    });
  }

  it('B13 nothing there: 204, and nothing takes part', async () => {
    const queue = await world.queue();
    const transaction = await manager.begin();
    (await send('POST', queue.receiving, transaction)).expect(204);
    assert.deepEqual(await messagesOf(transaction), []);
    expectProblem(await manager.commit(transaction), 409);
  });

  it('B13 taken, answered and reserved in one step', async () => {
    const [orders, replies] = [await world.queue(), await world.queue()];
    await world.post(orders, ['order']);
    for (const outcome of ['rolled-back', 'committed'] as const) {
      const transaction = await manager.begin();
      (await send('POST', orders.receiving, transaction)).expect(200);
      (await send('POST', replies.address, transaction, { body: 'reply' })).expect(204);
      const { address } = await manager.reserve('airline', transaction, flight(world));
      (await manager.end(transaction, outcome)).expect(200);
      const isDone = outcome === 'committed';
      assert.equal((await client.get(address)).expect(200).has('ticket'), isDone);
      assert.deepEqual(await world.drain(replies), isDone ? ['reply'] : []);
    }
    assert.deepEqual(await world.drain(orders), []);
  });

  it('B13 a transaction of another service is 422, an unknown one 404, one that is over 410, and nothing comes into being', async () => {
    const queue = await world.queue();
    const over = await manager.begin();
    (await manager.end(over, 'rolled-back')).expect(200);
    for (const [href, status] of [
      ['http://example.org/transaction-manager/transactions/1', 422],
      [manager.on(queue.address).href, 422],
    ] as const) {
      const headers = { link: `<${href}>; rel="transaction"` };
      expectProblem(await client.post(queue.address, { headers, body: 'x' }), status);
    }
    expectProblem(await send('POST', queue.address, { ...over, address: `${over.address}x` }, { body: 'x' }), 404);
    expectProblem(await send('POST', queue.address, over, { body: 'x' }), 410);
    const unknown = await world.address('queue', world.name());
    expectProblem(await send('POST', unknown, over, { body: 'x' }), 410);
    expectProblem(await client.get(unknown), 404);
    expectProblem(await send('POST', queue.receiving, over), 410);
    (await client.post(queue.receiving)).expect(204);
  });

  it('B13 a part of a batch that names a transaction of its own is refused, not posted outside of it', async () => {
    const queue = await world.queue();
    const link = client.store((await client.head(queue.address)).expect(200).link('post-batch'));
    const { base, headers } = inside(await manager.begin());
    const body = `--b\r\n\r\none\r\n--b\r\nLink: ${headers.link}\r\n\r\ntwo\r\n--b--\r\n`;
    const refused = expectProblem(await client.post(`${base}${link}`, { headers: BATCH, body }), 422);
    assert.equal(refused.errors?.[0]?.pointer, '/2');
    (await client.post(queue.receiving)).expect(204);
  });

  it('B13 what is done at once is refused when it names a transaction, not done outside of it', async () => {
    const queue = await world.queue();
    await world.post(queue, ['x']);
    const { acknowledgement, message } = await poll(world, queue);
    const transaction = await manager.begin();
    const verdict = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'acknowledge=true' };
    expectProblem(await send('POST', acknowledgement, transaction, verdict), 422);
    expectProblem(await send('DELETE', message, transaction), 422);
    expectProblem(await send('POST', await follow(world, queue, 'purge'), transaction), 422);
    assert.equal((await countsOf(client, queue)).leased, 1);
  });

  it('B13 a queue that was deleted meanwhile refuses the commit', async () => {
    const queue = await world.queue();
    const transaction = await manager.begin();
    (await send('POST', queue.address, transaction, { body: 'x' })).expect(204);
    (await client.delete(queue.address, { query: { force: 'true' } })).expect(204);
    expectProblem(await manager.commit(transaction), 409);
    assert.equal(await manager.ended(transaction), 'rolled-back');
  });
}
