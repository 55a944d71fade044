import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem, lastingFields } from '../expect.ts';
import type { World } from '../world.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

type Document = { name: string; counts: Record<string, number>; [setting: string]: unknown };

/** Settings of a queue that are refused. */
const BAD_SETTINGS: Record<string, unknown>[] = [
  { lease: 0 },
  { lease: -1 },
  { lease: 'soon' },
  { lease: [5] },
  { lease: true },
  { 'max-deliveries': 0 },
  { 'max-deliveries': 2.5 },
  { 'dead-letter': 'no/name' },
  { ttl: -1 },
  { delay: '1h' },
  { retention: -5 },
  { 'max-length': 0 },
  { 'max-bytes': 'big' },
  { size: 5 },
];

export function documents(world: World): void {
  const { client } = world;
  const read = async (address: string) => (await client.get(address)).expect(200).json<Document>();

  it('A2 a queue’s document has its name, counts and links; HEAD the same fields', async () => {
    const queue = await world.queue();
    const url = `${client.bases[0]}${queue.address}`;
    const answer = (await client.get(url)).expect(200);
    const { name, counts } = answer.json<Document>();
    assert.equal(name, queue.name);
    assert.deepEqual(counts, { available: 0, delayed: 0, leased: 0, dead: 0 });
    for (const rel of ['self', 'receiving']) assert.ok(answer.has(rel), rel);
    assert.match(answer.template('message'), /\{message-id\}/);
    assert.deepEqual(lastingFields((await client.head(url)).expect(200)), lastingFields(answer));
  });

  it('A2 message-factory has the target of post-message', async () => {
    for (const { address } of [await world.queue(), await world.topic()]) {
      const answer = await client.head(address);
      assert.equal(answer.link('message-factory'), answer.link('post-message'));
    }
  });

  it('A2 a queue links what a receiver needs, a topic what a reader needs', async () => {
    const queue = await client.head((await world.queue()).address);
    for (const rel of ['poller', 'receiving']) assert.ok(queue.has(rel), rel);
    const topic = await client.head((await world.topic()).address);
    for (const rel of ['next', 'first', 'last']) assert.ok(topic.has(rel), rel);
  });

  it('A2 a topic’s document counts what it retains', async () => {
    const topic = await world.topic();
    assert.deepEqual((await read(topic.address)).counts, { retained: 0 });
    await world.post(topic, ['a', 'b']);
    assert.deepEqual((await read(topic.address)).counts, { retained: 2 });
  });

  it('A2 counts follow what happens, on every node', async () => {
    const queue = await world.queue();
    await world.post(queue, ['a', 'b', 'c']);
    await world.post(queue, ['later'], { delay: 60 });
    await world.post(queue, ['light'], { persistent: 'false' });
    for (const _ of client.bases) {
      assert.deepEqual((await read(queue.address)).counts, { available: 4, delayed: 1, leased: 0, dead: 0 });
    }
    (await client.post(queue.receiving)).expect(200);
    assert.equal((await read(queue.address)).counts.available, 3);
  });

  it('A3 a queue’s settings have their defaults', async () => {
    const queue = await world.queue();
    const { lease, retention, ...settings } = await read(queue.address);
    assert.deepEqual([lease, retention], [30, 3600]);
    assert.equal(settings['max-deliveries'], 10);
    assert.equal(settings['dead-letter'], `${queue.name}.dead`);
    for (const name of ['ttl', 'delay', 'max-length', 'max-bytes']) assert.equal(settings[name], undefined, name);
  });

  it('A3 a topic retains for seven days unless told', async () => {
    const topic = await world.topic();
    assert.equal((await read(topic.address)).retention, 7 * 86_400);
  });

  it('A3 a dead-letter queue has neither deliveries nor a dead letter', async () => {
    const address = await world.address('queue', `${world.name()}.dead`);
    (await client.put(address)).expect(201);
    const document = await read(address);
    assert.equal(document['max-deliveries'], undefined);
    assert.equal(document['dead-letter'], undefined);
  });

  it('A3 nor can it be given one: a chain or a circle of dead-letter queues is 422', async () => {
    const dead = await world.queue();
    const queue = await world.queue({ 'dead-letter': dead.name });
    const body = (name: string): string => JSON.stringify({ 'dead-letter': name });
    const headers = { 'content-type': 'application/json' };
    for (const name of [queue.name, world.name()]) {
      const refused = await client.put(dead.address, { headers, body: body(name) });
      assert.equal(expectProblem(refused, 422).errors?.[0]?.pointer, '/dead-letter');
    }
    expectProblem(await client.put((await world.queue()).address, { headers, body: body(queue.name) }), 422);
    (await client.put(dead.address, { headers, body: JSON.stringify(await read(dead.address)) })).expect(200);
  });

  it('A3 settings come back as they were set, on every node', async () => {
    const settings = {
      lease: 12.5,
      'max-deliveries': 3,
      'dead-letter': world.name(),
      ttl: 100,
      delay: 1,
      retention: 0,
      'max-length': 7,
      'max-bytes': 1000,
    };
    const queue = await world.queue(settings);
    for (const _ of client.bases) {
      const document = await read(queue.address);
      for (const [name, value] of Object.entries(settings)) assert.equal(document[name], value, name);
    }
  });

  it('A3 settings that are wrong are 422 and change nothing', async () => {
    const queue = await world.queue({ lease: 5 });
    for (const settings of BAD_SETTINGS) {
      const [name = ''] = Object.keys(settings);
      const answer = await client.put(queue.address, { headers: JSON_TYPE, body: JSON.stringify(settings) });
      const { errors } = expectProblem(answer, 422);
      assert.deepEqual(
        errors?.map(({ pointer }) => pointer),
        [`/${name}`],
      );
    }
    assert.equal((await read(queue.address)).lease, 5);
  });

  it('A3 a setting of queues is none of a topic', async () => {
    const topic = await world.topic();
    const answer = await client.put(topic.address, { headers: JSON_TYPE, body: '{"lease":5}' });
    expectProblem(answer, 422);
  });

  it('A3 a changed setting holds, on every node', async () => {
    const queue = await world.queue();
    for (const base of client.bases) (await client.post(`${base}${queue.address}`, { body: 'before' })).expect(204);
    (await client.put(queue.address, { headers: JSON_TYPE, body: '{"delay":60}' })).expect(200);
    for (const base of client.bases) {
      assert.equal((await client.get(`${base}${queue.address}`)).json().delay, 60, base);
      // The other node learns of it by a message of its own, not by ours.
      await world.until(`the delay holds on ${base}`, async () => {
        const posted = (await client.post(`${base}${queue.address}`, { body: 'x' })).expect(204);
        const message = await client.get(posted.headers.location ?? '');
        return message.headers['message-state'] === 'delayed';
      });
    }
  });

  it('A3 retention 0: a received message is gone', async () => {
    const queue = await world.queue({ retention: 0 });
    const [message = ''] = await world.post(queue, ['x']);
    (await client.post(queue.receiving)).expect(200);
    const answer = await client.get(message);
    // It is swept away by the way; until then it is seen as what it is.
    assert.ok(answer.status === 410 || answer.headers['message-state'] === 'acknowledged', answer.asked);
  });
}
