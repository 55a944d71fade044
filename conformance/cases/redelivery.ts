import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem } from '../expect.ts';
import { countsOf, follow, partsOf, poll, settle, stateOf, textsOf } from '../steps.ts';
import type { Queue, World } from '../world.ts';

export function redelivery(world: World): void {
  const { client } = world;
  /** Time brings it back; a look shows when. */
  const untilFirst = (queue: Queue, text: string) =>
    world.until(`${text} is the first again`, async () => (await client.get(queue.receiving)).text() === text);

  it('A16 lease over without a verdict: delivered again, Delivery-Count one higher each time', async () => {
    const queue = await world.queue({ lease: 0.2 });
    const [message] = await world.post(queue, ['again']);
    const links = new Set<string>();
    for (const count of [1, 2, 3]) {
      const delivery = await poll(world, queue);
      assert.deepEqual([delivery.text, delivery.count, delivery.message], ['again', count, message]);
      links.add(delivery.acknowledgement);
    }
    assert.equal(links.size, 3, 'each delivery has a link of its own');
  });

  it('A16 it comes back at its place in the order', async () => {
    const queue = await world.queue({ lease: 0.3 });
    await world.post(queue, ['a', 'b', 'c']);
    assert.equal((await poll(world, queue)).text, 'a');
    await untilFirst(queue, 'a');
    assert.deepEqual(await world.drain(queue), ['a', 'b', 'c']);
  });

  it('A16 what was leased together comes back in order, and before what came later', async () => {
    const queue = await world.queue({ lease: 0.5 });
    await world.post(queue, ['a', 'b', 'c']);
    const at = await follow(world, queue, 'poller');
    assert.deepEqual(textsOf((await client.post(at, { query: { max: 3 } })).expect(200)), ['a', 'b', 'c']);
    await world.post(queue, ['d']);
    await world.until('all are back', async () => (await countsOf(client, queue)).available === 4);
    // A node may learn of it a moment later than it can be counted: who is given a message that comes first looks there.
    for (const base of client.bases) {
      const query = { priority: 9 };
      (await client.post(`${base}${queue.address}`, { query, body: 'first' })).expect(204);
    }
    const parts = partsOf((await client.post(at, { query: { max: 10 } })).expect(200));
    assert.deepEqual(
      parts.map(({ body, headers }) => `${body} ${headers['delivery-count']}`),
      [...client.bases.map(() => 'first 1'), 'a 2', 'b 2', 'c 2', 'd 1'],
    );
  });

  it('A16 priority goes before arrival for what comes back, too', async () => {
    const queue = await world.queue({ lease: 0.3 });
    await world.post(queue, ['high'], { priority: 9 });
    await world.post(queue, ['low'], { priority: 1 });
    assert.equal((await poll(world, queue)).text, 'high');
    await world.post(queue, ['middle']);
    await untilFirst(queue, 'high');
    assert.deepEqual(await world.drain(queue), ['high', 'middle', 'low']);
  });

  it('A16 a message in memory is delivered again like any other', async () => {
    const queue = await world.queue({ lease: 0.2 });
    await world.post(queue, ['light'], { persistent: 'false' });
    for (const count of [1, 2]) assert.equal((await poll(world, queue)).count, count);
  });

  it('A16 a late verdict counts as long as nobody else has the message', async () => {
    const queue = await world.queue({ lease: 0.2 });
    await world.post(queue, ['job']);
    const { message, acknowledgement } = await poll(world, queue);
    await untilFirst(queue, 'job');
    (await settle(client, acknowledgement, { acknowledge: 'true' })).expect(204);
    assert.equal(await stateOf(client, message), 'acknowledged');
    (await client.get(queue.receiving)).expect(204);
  });

  it('A16 a late verdict is 412 once somebody else has the message', async () => {
    const queue = await world.queue({ lease: 0.2 });
    await world.post(queue, ['job']);
    const late = await poll(world, queue);
    const second = await poll(world, queue);
    (await settle(client, second.acknowledgement, { extend: '600' })).expect(204);
    expectProblem(await settle(client, late.acknowledgement, { acknowledge: 'true' }), 412);
    assert.equal(await stateOf(client, late.message), 'leased');
  });

  it('A16 an acknowledged message does not come back when its lease would be over', async () => {
    const queue = await world.queue({ lease: 0.4 });
    await world.post(queue, ['done']);
    (await settle(client, (await poll(world, queue)).acknowledgement, { acknowledge: 'true' })).expect(204);
    await world.post(queue, ['later'], { delay: 0.8 });
    // Taken for good, so that nothing else can come back either, however slow the machine is.
    const next = await client.post(queue.receiving, { headers: { 'accept-wait': '20' } });
    assert.equal(next.expect(200).text(), 'later');
    assert.equal((await countsOf(client, queue)).available, 0);
  });

  it('A16 receiving takes what comes back, and its Delivery-Count tells of the tries before', async () => {
    const queue = await world.queue({ lease: 0.2 });
    await world.post(queue, ['job']);
    await poll(world, queue);
    const answer = await client.post(queue.receiving, { headers: { 'accept-wait': '20' } });
    assert.equal(answer.expect(200).headers['delivery-count'], '2');
  });

  it('A16 a leased message whose ttl runs out can still be acknowledged, but is not delivered again', async () => {
    const { queue, message, acknowledgement, ttl } = await world.inTime(1, async (seconds) => {
      const leasing = await world.queue({ lease: 600 });
      await world.post(leasing, ['short'], { ttl: seconds });
      return { queue: leasing, ...(await poll(world, leasing, 0)), ttl: seconds };
    });
    const [later = ''] = await world.post(await world.queue(), ['later'], { ttl });
    await world.until('its time is over', async () => (await stateOf(client, later)) === 'expired');
    assert.equal(await stateOf(client, message), 'leased', 'a lease is good until it is over');
    (await settle(client, acknowledgement, { acknowledge: 'true' })).expect(204);
    assert.equal(await stateOf(client, message), 'acknowledged');
    assert.deepEqual(await world.drain(queue), []);
  });
}
