import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem } from '../expect.ts';
import { createWays, TEXT } from '../posting-ways.ts';
import { createManager } from '../transactions.ts';
import type { World } from '../world.ts';

/** The ways of posting that promise to store a message once, and what a repeat is answered with. */
const PROMISING = ['put', 'post-message-once', 'post-batch-once'] as const;
const REPEATED = { put: 200, 'post-message-once': 405, 'post-batch-once': 405 } as const;

/** An id or a once-only link that a transaction has used: nobody is told anything of it that the end may make untrue. */
export function heldPromises(world: World): void {
  const { client } = world;
  const manager = createManager(world);
  const { send, waysOf } = createWays(world, manager);

  /** A fresh queue, to which a transaction has posted in that way. */
  async function held(name: (typeof PROMISING)[number]) {
    const queue = await world.queue();
    const way = (await waysOf(queue))[name] ?? assert.fail();
    const transaction = await manager.begin();
    (await way.postIn(transaction)).expect(way.okay);
    return { queue, way, transaction };
  }

  it('B13 an id or a link that an open transaction holds is promised to nobody else', async () => {
    for (const name of PROMISING) {
      const { queue, way, transaction: first } = await held(name);
      const second = await manager.begin();
      // The same again in the same transaction is a repeat like any other.
      (await way.postIn(first)).expect(REPEATED[name]);
      expectProblem(await way.post(), 409);
      expectProblem(await way.postIn(second), 409);
      if (name !== 'put') expectProblem(await client.get(way.at), 409);
      (await manager.end(first, 'rolled-back')).expect(200);
      (await way.postIn(second)).expect(way.okay);
      (await manager.commit(second)).expect(200);
      (await way.post()).expect(REPEATED[name]);
      assert.deepEqual(await world.drain(queue), way.posts);
    }
  });

  it('B13 whoever asks while a rollback is under way is never told that the link was used', async () => {
    for (const name of ['post-message-once', 'post-batch-once'] as const) {
      for (let round = 0; round < 12; round++) {
        const { queue, way, transaction } = await held(name);
        let isOver = false;
        const ask = async (): Promise<void> => {
          while (!isOver) (await client.get(way.at)).expect(204, 409);
        };
        const asking = Promise.all([ask(), ask(), ask(), ask()]);
        (await manager.end(transaction, 'rolled-back')).expect(200);
        isOver = true;
        await asking;
        (await client.post(queue.receiving)).expect(204);
      }
    }
  });

  it('B13 nor when the queue was deleted, whose messages the transaction held', async () => {
    const { queue, way, transaction } = await held('post-message-once');
    (await client.delete(queue.address, { query: { force: 'true' } })).expect(204);
    for (const again of [() => client.get(way.at), () => way.post()]) expectProblem(await again(), 409);
    (await client.put(queue.address)).expect(201);
    for (const again of [() => client.get(way.at), () => way.post()]) expectProblem(await again(), 409);
    (await manager.end(transaction, 'rolled-back')).expect(200);
    (await client.get(way.at)).expect(204);
    (await way.post()).expect(200);
    assert.deepEqual(await world.drain(queue), ['one']);
  });

  it('B13 of a message that a transaction holds, a PUT under its address learns nothing either', async () => {
    const queue = await world.queue();
    const { 'post-message-once': way = assert.fail(), put = assert.fail() } = await waysOf(queue);
    const [first, second] = [await manager.begin(), await manager.begin()];
    const posted = (await way.postIn(first)).expect(200);
    const address = client.store(posted.headers['content-location'] ?? '');
    for (const body of ['one', 'other']) expectProblem(await client.put(address, { body }), 409);
    (await put.postIn(first)).expect(201);
    const other = { headers: TEXT, body: 'other' };
    const undecided = await send('PUT', put.at, second, other);
    expectProblem(undecided, 409);
    assert.ok(undecided.headers['retry-after'], 'it may be free again');
    (await manager.end(first, 'rolled-back')).expect(200);
    (await send('PUT', put.at, second, other)).expect(201);
    (await manager.commit(second)).expect(200);
    assert.deepEqual(await world.drain(queue), ['other']);
  });

  it('A12 A6 a repeat is a repeat also when its transaction has ended with the commit', async () => {
    for (const name of PROMISING) {
      const { queue, way, transaction } = await held(name);
      (await manager.commit(transaction)).expect(200);
      const again = await way.postIn(transaction);
      again.expect(REPEATED[name]);
      if (name !== 'put') again.link('create-next');
      assert.deepEqual(await world.drain(queue), way.posts);
      (await way.postIn(transaction)).expect(REPEATED[name]);
      (await client.post(queue.receiving)).expect(204);
    }
  });

  it('B13 what a rollback undid is no repeat', async () => {
    for (const name of PROMISING) {
      const { queue, way, transaction } = await held(name);
      (await manager.end(transaction, 'rolled-back')).expect(200);
      expectProblem(await way.postIn(transaction), 410);
      (await client.post(queue.receiving)).expect(204);
    }
  });
}
