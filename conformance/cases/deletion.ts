import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem } from '../expect.ts';
import type { World } from '../world.ts';

export function deletion(world: World): void {
  const { client } = world;

  it('A1 DELETE gives 204, then the destination is 404 on every node', async () => {
    for (const { address } of [await world.queue(), await world.topic()]) {
      for (const base of client.bases) (await client.get(`${base}${address}`)).expect(200);
      const answer = (await client.delete(address)).expect(204);
      assert.equal(answer.body.length, 0);
      for (const base of client.bases) expectProblem(await client.get(`${base}${address}`), 404);
      expectProblem(await client.delete(address), 404);
    }
  });

  it('A1 a queue that holds messages needs force, whatever state they are in', async () => {
    for (const query of [{}, { delay: 60 }, { persistent: 'false' }] as Record<string, string | number>[]) {
      const queue = await world.queue();
      const [message = ''] = await world.post(queue, ['x'], query);
      expectProblem(await client.delete(queue.address), 409);
      expectProblem(await client.delete(queue.address, { query: { force: 'false' } }), 409);
      (await client.get(message)).expect(200);
      (await client.delete(queue.address, { query: { force: 'true' } })).expect(204);
      expectProblem(await client.get(queue.address), 404);
      expectProblem(await client.get(message), 404, 410);
    }
  });

  it('A1 a topic that retains messages needs force', async () => {
    const topic = await world.topic();
    await world.post(topic, ['x']);
    expectProblem(await client.delete(topic.address), 409);
    (await client.delete(topic.address, { query: { force: '1' } })).expect(204);
  });

  it('A1 a queue whose messages were all received needs none', async () => {
    const queue = await world.queue();
    await world.post(queue, ['x', 'y']);
    await world.drain(queue);
    (await client.delete(queue.address)).expect(204);
  });

  it('A1 a force that cannot be read is 400 and deletes nothing', async () => {
    const queue = await world.queue();
    for (const force of ['yes', '', 'TRUE', '2']) {
      expectProblem(await client.delete(queue.address, { query: { force } }), 400);
    }
    (await client.get(queue.address)).expect(200);
  });

  it('A1 a queue made anew is empty and has default settings', async () => {
    const queue = await world.queue({ lease: 5 });
    await world.post(queue, ['old']);
    (await client.put(queue.message('old-id'), { body: 'old' })).expect(201);
    (await client.delete(queue.address, { query: { force: 'true' } })).expect(204);
    for (let i = 0; i < client.bases.length; i++) await world.post(queue, ['new']);
    assert.equal((await client.get(queue.address)).json().lease, 30);
    assert.deepEqual(new Set(await world.drain(queue)), new Set(['new']));
  });

  it('A1 posting while the queue is deleted succeeds: into the old queue or a new one', async () => {
    const queue = await world.queue();
    const texts = Array.from({ length: 10 }, (_, i) => `m${i}`);
    const posts = texts.map((body) => client.post(queue.address, { body }));
    const deleted = client.delete(queue.address, { query: { force: 'true' } });
    for (const answer of await Promise.all(posts)) answer.expect(204);
    (await deleted).expect(204);
    await world.post(queue, ['after']);
    const left = await world.drain(queue);
    assert.ok(left.includes('after') && new Set(left).size === left.length, left.join());
  });
}
