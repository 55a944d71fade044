import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem } from '../expect.ts';
import type { World } from '../world.ts';

const BODY_LIMIT = 10 * 1024 * 1024;

export function limits(world: World): void {
  const { client } = world;

  it('D a body of 10 MiB is taken and comes back byte for byte', async () => {
    const queue = await world.queue();
    const body = Buffer.alloc(BODY_LIMIT, 'waypost-');
    body[0] = 0;
    body[BODY_LIMIT - 1] = 255;
    (await client.post(queue.address, { body })).expect(204);
    const received = (await client.post(queue.receiving)).expect(200);
    assert.ok(received.body.equals(body));
  });

  it('D one byte more is 413 and stores nothing', async () => {
    const queue = await world.queue();
    const body = Buffer.alloc(BODY_LIMIT + 1);
    expectProblem(await client.post(queue.address, { body }), 413);
    expectProblem(await client.put(queue.message('big'), { body }), 413);
    (await client.post(queue.receiving)).expect(204);
  });

  it('D a body that does not say its length has the same limit', async () => {
    const queue = await world.queue();
    const headers = { 'transfer-encoding': 'chunked' };
    const fits = await client.post(queue.address, { headers, body: Buffer.alloc(BODY_LIMIT, 'x') });
    fits.expect(204);
    expectProblem(await client.post(queue.address, { headers, body: Buffer.alloc(BODY_LIMIT + 1) }), 413);
    assert.equal((await client.post(queue.receiving)).expect(200).body.length, BODY_LIMIT);
    (await client.post(queue.receiving)).expect(204);
  });

  it('D documents have the same limit', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = `{"name":"${'x'.repeat(BODY_LIMIT)}"}`;
    expectProblem(await client.post(await world.link('queues'), { headers, body }), 413);
  });

  it('D header fields of 16 KiB and more are 431, a little less passes', async () => {
    const queue = await world.queue();
    const much = { 'x-much': 'x'.repeat(15 * 1024) };
    (await client.post(queue.address, { headers: much, body: 'x' })).expect(204);
    assert.equal((await client.post(queue.receiving)).expect(200).headers['x-much'], much['x-much']);
    expectProblem(await client.post(queue.address, { headers: { 'x-much': 'x'.repeat(17 * 1024) } }), 431);
    const many = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`x-${i}`, 'y'.repeat(60)]));
    expectProblem(await client.post(queue.address, { headers: many }), 431);
    (await client.post(queue.receiving)).expect(204);
  });

  it('D many small fields are all kept', async () => {
    const queue = await world.queue();
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x-${i}`, String(i)]));
    (await client.post(queue.address, { headers: many, body: 'x' })).expect(204);
    const { headers } = (await client.post(queue.receiving)).expect(200);
    for (const [name, value] of Object.entries(many)) assert.equal(headers[name], value);
  });

  it('D an address that is too long is refused', async () => {
    expectProblem(await client.get(await world.address('queue', 'x'.repeat(9000))), 400, 414);
  });

  it('D max-length: a full queue takes nothing more until something is received', async () => {
    const queue = await world.queue({ 'max-length': 2 });
    await world.post(queue, ['one', 'two']);
    expectProblem(await client.post(queue.address, { body: 'three' }), 409);
    expectProblem(await client.put(queue.message('three'), { body: 'three' }), 409);
    (await client.post(queue.receiving)).expect(200);
    (await client.put(queue.message('three'), { body: 'three' })).expect(201);
    assert.deepEqual(await world.drain(queue), ['two', 'three']);
  });

  it('D max-bytes: the same by size', async () => {
    const queue = await world.queue({ 'max-bytes': 10_000 });
    await world.post(queue, ['x'.repeat(5000)]);
    expectProblem(await client.post(queue.address, { body: 'x'.repeat(9000) }), 409);
    await world.drain(queue);
    (await client.post(queue.address, { body: 'x'.repeat(5000) })).expect(204);
  });
}
