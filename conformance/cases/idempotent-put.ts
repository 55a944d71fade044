import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem } from '../expect.ts';
import type { World } from '../world.ts';

const TEXT = { 'content-type': 'text/plain' };

export function idempotentPut(world: World): void {
  const { client } = world;

  it('A6 the first PUT is 201 with Location, the same again 200, and there is one message', async () => {
    const queue = await world.queue();
    const address = queue.message('order-1');
    const first = (await client.put(address, { headers: TEXT, body: 'x' })).expect(201);
    assert.equal(client.store(first.headers.location ?? ''), address);
    for (const _ of client.bases) {
      const again = (await client.put(address, { headers: TEXT, body: 'x' })).expect(200);
      assert.equal(client.store(again.headers.location ?? ''), address);
    }
    assert.deepEqual(await world.drain(queue), ['x']);
  });

  it('A6 the message is found under its id', async () => {
    const queue = await world.queue();
    (await client.put(queue.message('order-1'), { headers: TEXT, body: 'x' })).expect(201);
    const message = (await client.get(queue.message('order-1'))).expect(200);
    assert.equal(message.text(), 'x');
    assert.equal(message.headers['message-id'], 'order-1');
    assert.equal(client.store(message.link('self')), queue.message('order-1'));
    const received = (await client.post(queue.receiving)).expect(200);
    assert.equal(client.store(received.headers['content-location'] ?? ''), queue.message('order-1'));
  });

  it('A6 the same again after it was received is 200 and brings nothing back', async () => {
    const queue = await world.queue();
    (await client.put(queue.message('once'), { headers: TEXT, body: 'x' })).expect(201);
    (await client.post(queue.receiving)).expect(200);
    for (const _ of client.bases) (await client.put(queue.message('once'), { headers: TEXT, body: 'x' })).expect(200);
    (await client.post(queue.receiving)).expect(204);
  });

  it('A6 the same again after the message was deleted, too', async () => {
    const queue = await world.queue();
    (await client.put(queue.message('once'), { headers: TEXT, body: 'x' })).expect(201);
    (await client.delete(queue.message('once'))).expect(204);
    (await client.put(queue.message('once'), { headers: TEXT, body: 'x' })).expect(200);
    expectProblem(await client.put(queue.message('once'), { headers: TEXT, body: 'y' }), 409);
    (await client.post(queue.receiving)).expect(204);
  });

  it('A6 the same id with another body or Content-Type is 409, before and after receiving', async () => {
    const queue = await world.queue();
    const address = queue.message('once');
    (await client.put(address, { headers: TEXT, body: 'x' })).expect(201);
    const others = [
      { headers: TEXT, body: 'y' },
      { headers: TEXT, body: '' },
      { headers: { 'content-type': 'text/html' }, body: 'x' },
      { headers: { 'content-type': 'text/plain; charset=utf-8' }, body: 'x' },
      { body: 'x' },
    ];
    for (const other of others) expectProblem(await client.put(address, other), 409);
    assert.deepEqual(await world.drain(queue), ['x']);
    for (const other of others) expectProblem(await client.put(address, other), 409);
    (await client.post(queue.receiving)).expect(204);
  });

  it('A6 nothing else is compared', async () => {
    const queue = await world.queue();
    const address = queue.message('once');
    (await client.put(address, { headers: { ...TEXT, 'x-try': '1' }, body: 'x', query: { priority: 9 } })).expect(201);
    const again = { headers: { ...TEXT, 'x-try': '2', link: '<urn:x>; rel="urn:y"' }, body: 'x', query: { ttl: 5 } };
    (await client.put(address, again)).expect(200);
    assert.equal((await client.get(address)).headers['x-try'], '1');
  });

  it('A6 an id belongs to its queue', async () => {
    const [one, other] = [await world.queue(), await world.queue()];
    (await client.put(one.message('same'), { body: 'one' })).expect(201);
    (await client.put(other.message('same'), { body: 'other' })).expect(201);
    assert.deepEqual([await world.drain(one), await world.drain(other)], [['one'], ['other']]);
  });

  it('A6 of many that race with one id, one is 201, the rest 200, and one message is there', async () => {
    const queue = await world.queue();
    const racing = Array.from({ length: 12 }, () => client.put(queue.message('race'), { headers: TEXT, body: 'x' }));
    const statuses = (await Promise.all(racing)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array(11).fill(200), 201]);
    assert.deepEqual(await world.drain(queue), ['x']);
  });

  it('A6 of many that race with different bodies, one wins and the rest are 409', async () => {
    const queue = await world.queue();
    const racing = Array.from({ length: 8 }, (_, i) => client.put(queue.message('race'), { body: `body ${i}` }));
    const statuses = (await Promise.all(racing)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, ...Array(7).fill(409)]);
    assert.equal((await world.drain(queue)).length, 1);
  });

  it('A6 a message under a chosen id takes its place in the order', async () => {
    const queue = await world.queue();
    await world.post(queue, ['one']);
    (await client.put(queue.message('two'), { body: 'two' })).expect(201);
    await world.post(queue, ['three']);
    (await client.put(queue.message('zero'), { body: 'zero', query: { priority: 9 } })).expect(201);
    assert.deepEqual(await world.drain(queue), ['zero', 'one', 'two', 'three']);
  });

  it('A6 delay and persistent=false can be asked for', async () => {
    const queue = await world.queue();
    (await client.put(queue.message('later'), { body: 'x', query: { delay: 60 } })).expect(201);
    assert.equal((await client.get(queue.message('later'))).headers['message-state'], 'delayed');
    const light = { body: 'y', query: { persistent: 'false' } };
    (await client.put(queue.message('light'), light)).expect(201);
    (await client.put(queue.message('light'), light)).expect(200);
    assert.deepEqual(await world.drain(queue), ['y']);
  });

  it('A6 a message can be repeated under the id the service gave it', async () => {
    const queue = await world.queue();
    const [address = ''] = await world.post(queue, ['x']);
    (await client.put(address, { headers: TEXT, body: 'x' })).expect(200);
    expectProblem(await client.put(address, { headers: TEXT, body: 'y' }), 409);
    assert.deepEqual(await world.drain(queue), ['x']);
  });
}
