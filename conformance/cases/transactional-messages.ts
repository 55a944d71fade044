import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer, Options } from '../client.ts';
import { expectProblem } from '../expect.ts';
import { countsOf, follow, poll } from '../steps.ts';
import { createManager, flight, type Transaction } from '../transactions.ts';
import type { Destination, Queue, World } from '../world.ts';

/** A way of posting: how many messages it posts, and how. `once`: a link that can be used again after a rollback. */
type Way = { posts: string[]; post(headers: Record<string, string>): Promise<Answer>; okay: number };

export function transactionalMessages(world: World): void {
  const { client } = world;
  const manager = createManager(world);

  /** The header that puts a request into a transaction, for the node that gets it. */
  function inside(transaction: Transaction): { base: string; headers: Record<string, string> } {
    const { base, href } = manager.on(transaction.address);
    return { base, headers: { link: `<${href}>; rel="transaction"` } };
  }
  const send = (method: string, address: string, transaction: Transaction, options: Options = {}) => {
    const { base, headers } = inside(transaction);
    return client.send(method, `${base}${address}`, { ...options, headers: { ...options.headers, ...headers } });
  };

  const BATCH = { 'content-type': 'multipart/mixed; boundary=b' };
  const batch = [
    '--b',
    'Content-Type: text/plain',
    '',
    'one',
    '--b',
    'Content-Type: text/plain',
    '',
    'two',
    '--b--',
    '',
  ].join('\r\n');

  async function waysOf(queue: Destination & Partial<Queue>): Promise<Record<string, Way & { at: string }>> {
    const links = (await client.head(queue.address)).expect(200);
    const link = (rel: string) => client.store(links.link(rel));
    const once = async (rel: string) => client.store((await client.post(link(rel))).expect(200).link('create-next'));
    const text = { 'content-type': 'text/plain' };
    const way = (at: string, okay: number, method = 'POST', many = false) => ({
      at,
      okay,
      posts: many ? ['one', 'two'] : ['one'],
      post: (headers: Record<string, string>) =>
        client.send(method, at, { headers: { ...(many ? BATCH : text), ...headers }, body: many ? batch : 'one' }),
    });
    return {
      direct: way(queue.address, 204),
      'post-message': way(link('post-message'), 201),
      'post-message-once': way(await once('post-message-once'), 200),
      'post-batch': way(link('post-batch'), 201, 'POST', true),
      'post-batch-once': way(await once('post-batch-once'), 200, 'POST', true),
      ...(queue.message === undefined ? {} : { put: way(queue.message('chosen'), 201, 'PUT') }),
    };
  }

  const bodyOf = ({ posts }: Way) =>
    posts.length > 1 ? { headers: BATCH, body: batch } : { headers: { 'content-type': 'text/plain' }, body: 'one' };

  async function messagesOf(transaction: Transaction): Promise<string[]> {
    const shown = (await manager.look(transaction)).children.filter(({ name }) => name === 'participant');
    return shown.map(({ attributes }) => attributes.kind ?? '');
  }

  for (const name of ['direct', 'post-message', 'post-message-once', 'post-batch', 'post-batch-once', 'put'] as const) {
    it(`B13 posted by ${name}: seen by nobody until the commit`, async () => {
      const queue = await world.queue();
      const way = (await waysOf(queue))[name] ?? assert.fail();
      const transaction = await manager.begin();
      const method = name === 'put' ? 'PUT' : 'POST';
      (await send(method, way.at, transaction, bodyOf(way))).expect(way.okay);
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
      const method = name === 'put' ? 'PUT' : 'POST';
      (await send(method, way.at, transaction, bodyOf(way))).expect(way.okay);
      (await manager.end(transaction, 'rolled-back')).expect(200);
      (await client.post(queue.receiving)).expect(204);
      (await way.post({})).expect(way.okay);
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
      (await send('POST', way.at, kept, bodyOf(way))).expect(way.okay);
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

  it('B13 an id or a link that an open transaction holds is promised to nobody else', async () => {
    const queue = await world.queue();
    const ways = await waysOf(queue);
    for (const name of ['put', 'post-message-once', 'post-batch-once'] as const) {
      const way = ways[name] ?? assert.fail();
      const method = name === 'put' ? 'PUT' : 'POST';
      const [first, second] = [await manager.begin(), await manager.begin()];
      (await send(method, way.at, first, bodyOf(way))).expect(way.okay);
      // The same again in the same transaction is a repeat like any other.
      (await send(method, way.at, first, bodyOf(way))).expect(name === 'put' ? 200 : 405);
      expectProblem(await way.post({}), 409);
      expectProblem(await send(method, way.at, second, bodyOf(way)), 409);
      if (name !== 'put') expectProblem(await client.get(way.at), 409);
      (await manager.end(first, 'rolled-back')).expect(200);
      (await send(method, way.at, second, bodyOf(way))).expect(way.okay);
      (await manager.commit(second)).expect(200);
      (await way.post({})).expect(name === 'put' ? 200 : 405);
      assert.deepEqual(await world.drain(queue), way.posts);
    }
  });

  it('B13 whoever asks while a rollback is under way is never told that the link was used', async () => {
    const queue = await world.queue();
    for (const name of ['post-message-once', 'post-batch-once'] as const) {
      for (let round = 0; round < 12; round++) {
        const way = (await waysOf(queue))[name] ?? assert.fail();
        const transaction = await manager.begin();
        (await send('POST', way.at, transaction, bodyOf(way))).expect(way.okay);
        let isOver = false;
        const ask = async (): Promise<void> => {
          while (!isOver) (await client.get(way.at)).expect(204, 409);
        };
        const asking = Promise.all([ask(), ask(), ask(), ask()]);
        (await manager.end(transaction, 'rolled-back')).expect(200);
        isOver = true;
        await asking;
      }
    }
    (await client.post(queue.receiving)).expect(204);
  });

  it('B13 nor when the queue was deleted, whose messages the transaction held', async () => {
    const queue = await world.queue();
    const { 'post-message-once': way = assert.fail() } = await waysOf(queue);
    const transaction = await manager.begin();
    (await send('POST', way.at, transaction, bodyOf(way))).expect(way.okay);
    (await client.delete(queue.address, { query: { force: 'true' } })).expect(204);
    for (const again of [() => client.get(way.at), () => way.post({})]) expectProblem(await again(), 409);
    (await client.put(queue.address)).expect(201);
    for (const again of [() => client.get(way.at), () => way.post({})]) expectProblem(await again(), 409);
    (await manager.end(transaction, 'rolled-back')).expect(200);
    (await client.get(way.at)).expect(204);
    (await way.post({})).expect(200);
    assert.deepEqual(await world.drain(queue), ['one']);
  });

  it('B13 of a message that a transaction holds, a PUT under its address learns nothing either', async () => {
    const queue = await world.queue();
    const { 'post-message-once': way = assert.fail(), put = assert.fail() } = await waysOf(queue);
    const [first, second] = [await manager.begin(), await manager.begin()];
    const posted = (await send('POST', way.at, first, bodyOf(way))).expect(200);
    const address = client.store(posted.headers['content-location'] ?? '');
    for (const body of ['one', 'other']) expectProblem(await client.put(address, { body }), 409);
    (await send('PUT', put.at, first, bodyOf(put))).expect(201);
    const other = { headers: { 'content-type': 'text/plain' }, body: 'other' };
    const undecided = await send('PUT', put.at, second, other);
    expectProblem(undecided, 409);
    assert.ok(undecided.headers['retry-after'], 'it may be free again');
    (await manager.end(first, 'rolled-back')).expect(200);
    (await send('PUT', put.at, second, other)).expect(201);
    (await manager.commit(second)).expect(200);
    assert.deepEqual(await world.drain(queue), ['other']);
  });

  it('A12 A6 a repeat is a repeat also when its transaction has ended with the commit', async () => {
    const queue = await world.queue();
    const ways = await waysOf(queue);
    for (const name of ['put', 'post-message-once', 'post-batch-once'] as const) {
      const way = ways[name] ?? assert.fail();
      const method = name === 'put' ? 'PUT' : 'POST';
      const transaction = await manager.begin();
      (await send(method, way.at, transaction, bodyOf(way))).expect(way.okay);
      (await manager.commit(transaction)).expect(200);
      const again = await send(method, way.at, transaction, bodyOf(way));
      again.expect(name === 'put' ? 200 : 405);
      if (name !== 'put') again.link('create-next');
      assert.deepEqual(await world.drain(queue), way.posts);
      (await send(method, way.at, transaction, bodyOf(way))).expect(name === 'put' ? 200 : 405);
      (await client.post(queue.receiving)).expect(204);
    }
  });

  it('B13 what a rollback undid is no repeat', async () => {
    const queue = await world.queue();
    const ways = await waysOf(queue);
    for (const name of ['put', 'post-message-once', 'post-batch-once'] as const) {
      const way = ways[name] ?? assert.fail();
      const method = name === 'put' ? 'PUT' : 'POST';
      const transaction = await manager.begin();
      (await send(method, way.at, transaction, bodyOf(way))).expect(way.okay);
      (await manager.end(transaction, 'rolled-back')).expect(200);
      expectProblem(await send(method, way.at, transaction, bodyOf(way)), 410);
      (await client.post(queue.receiving)).expect(204);
    }
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
