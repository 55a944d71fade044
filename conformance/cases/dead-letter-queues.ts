import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer } from '../client.ts';
import { expectProblem } from '../expect.ts';
import { countsOf, follow, poll, settle } from '../steps.ts';
import type { Destination, Queue, Settings, World } from '../world.ts';

/** Which queues are dead-letter queues, from when and until when. */
export function deadLetterQueues(world: World): void {
  const { client } = world;

  const set = ({ address }: Destination, settings: Settings): Promise<Answer> =>
    client.put(address, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(settings) });

  async function isDeadLetterQueue({ address }: Pick<Destination, 'address'>): Promise<boolean> {
    const answer = (await client.get(address)).expect(200);
    const document = answer.json();
    const isOne = answer.has('redrive');
    assert.equal(document['max-deliveries'] === undefined, isOne, 'max-deliveries');
    assert.equal(document['dead-letter'] === undefined, isOne, 'dead-letter');
    return isOne;
  }

  /** Hands a message out and takes it back so many times; it must come again each time. */
  async function giveBack(queue: Queue, times: number): Promise<void> {
    for (let count = 1; count <= times; count++) {
      const delivery = await poll(world, queue);
      assert.equal(delivery.count, count);
      (await settle(client, delivery.acknowledgement, { acknowledge: 'false' })).expect(204);
    }
  }

  /** Every node shows it in the answers that it makes of what it remembers. */
  async function shownByAll(queue: Queue, isOne: boolean): Promise<void> {
    for (const base of client.bases) {
      await world.until(`${base} knows whether ${queue.name} is a dead-letter queue`, async () => {
        return (await client.get(`${base}${queue.receiving}`)).expect(204).has('redrive') === isOne;
      });
    }
  }

  it('A3 a queue that another one names is a dead-letter queue from that moment on', async () => {
    const dead = await world.queue({ 'max-deliveries': 1, lease: 20 });
    await shownByAll(dead, false);
    const queue = await world.queue({ 'dead-letter': dead.name });
    assert.ok(await isDeadLetterQueue(dead));
    assert.equal((await client.get(dead.address)).json().lease, 20, 'what else was set is kept');
    assert.equal(client.store((await client.head(queue.address)).link('dead-letter')), dead.address);
    assert.equal((await client.post(await follow(world, dead, 'redrive'))).expect(200).json().redriven, 0);
    await shownByAll(dead, true);
  });

  it('A16 what is posted to it before the first dead letter does not die either', async () => {
    const dead = await world.queue({ 'max-deliveries': 2 });
    await world.queue({ 'dead-letter': dead.name });
    await shownByAll(dead, true);
    await world.post(dead, ['direct']);
    await giveBack(dead, 4);
    assert.deepEqual(await world.drain(dead), ['direct']);
  });

  it('A3 it may be named before it is there, however it is made', async () => {
    const [put, created, posted] = [world.name('put'), world.name('created'), world.name('posted')];
    for (const name of [put, created, posted]) await world.queue({ 'dead-letter': name });
    (await client.put(await world.address('queue', put))).expect(201);
    const headers = { 'content-type': 'application/json' };
    (await client.post(await world.link('queues'), { headers, body: JSON.stringify({ name: created }) })).expect(201);
    (await client.post(await world.address('queue', posted), { body: 'x' })).expect(204);
    for (const name of [put, created, posted]) {
      assert.ok(await isDeadLetterQueue(await world.queueAt(name)), name);
    }
  });

  it('A3 when nobody names it any more it is an ordinary queue again, with what was set of it', async () => {
    const dead = await world.queue({ 'max-deliveries': 3 });
    const first = await world.queue({ 'dead-letter': dead.name });
    const second = await world.queue({ 'dead-letter': dead.name });
    (await set(first, {})).expect(200);
    assert.ok(await isDeadLetterQueue(dead), 'another one still names it');
    const redrive = await follow(world, dead, 'redrive');
    (await client.delete(second.address)).expect(204);
    assert.ok(!(await isDeadLetterQueue(dead)));
    assert.equal((await client.get(dead.address)).json()['max-deliveries'], 3);
    await shownByAll(dead, false);
    expectProblem(await client.post(redrive), 409);
  });

  it('A3 one that is named instead of another takes its place', async () => {
    const [before, after] = [await world.queue(), await world.queue()];
    const queue = await world.queue({ 'dead-letter': before.name });
    (await set(queue, { 'dead-letter': after.name })).expect(200);
    assert.deepEqual([await isDeadLetterQueue(before), await isDeadLetterQueue(after)], [false, true]);
    await shownByAll(before, false);
    await shownByAll(after, true);
  });

  it('A16 one that has taken dead letters stays a dead-letter queue: they can be sent back from it', async () => {
    const dead = await world.queue();
    const queue = await world.queue({ 'dead-letter': dead.name, 'max-deliveries': 1 });
    await world.post(queue, ['x']);
    await giveBack(queue, 1);
    await world.until('it lies there', async () => (await countsOf(client, dead)).available === 1);
    (await client.delete(queue.address)).expect(204);
    assert.ok(await isDeadLetterQueue(dead));
    assert.equal((await client.post(await follow(world, dead, 'redrive'))).expect(200).json().redriven, 1);
    assert.deepEqual(await world.drain(await world.queueAt(queue.name)), ['x']);
  });

  it('A16 what died twice came from where it died last', async () => {
    const [middle, last] = [await world.queue(), await world.queue()];
    const first = await world.queue({ 'dead-letter': middle.name, 'max-deliveries': 1 });
    await world.post(first, ['x']);
    await giveBack(first, 1);
    await world.until('it lies there', async () => (await countsOf(client, middle)).available === 1);
    (await client.delete(first.address)).expect(204);
    (await set(middle, { 'dead-letter': last.name, 'max-deliveries': 1 })).expect(200);
    await giveBack(middle, 1);
    const letter = await poll(world, last);
    assert.equal(client.store(letter.answer.link('generator')), middle.address);
    (await settle(client, letter.acknowledgement, { acknowledge: 'false' })).expect(204);
    (await client.post(await follow(world, last, 'redrive'))).expect(200);
    assert.deepEqual(await world.drain(middle), ['x']);
  });

  it('A3 chains and circles are refused, and nothing is changed by them', async () => {
    const dead = await world.queue();
    const queue = await world.queue({ 'dead-letter': dead.name });
    const other = await world.queue();
    expectProblem(await set(dead, { 'dead-letter': queue.name }), 422);
    expectProblem(await set(dead, { 'dead-letter': other.name }), 422);
    expectProblem(await set(other, { 'dead-letter': queue.name }), 422);
    assert.ok(await isDeadLetterQueue(dead));
    for (const each of [queue, other]) assert.ok(!(await isDeadLetterQueue(each)));
  });

  it('A3 a topic of the same name is not concerned', async () => {
    const topic = await world.topic();
    await world.queue({ 'dead-letter': topic.name });
    const answer = (await client.get(topic.address)).expect(200);
    assert.ok(!answer.has('redrive'));
  });
}
