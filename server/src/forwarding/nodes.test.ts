/** Several nodes on one database: one serves a subscriber, another takes over when it dies. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshDatabase } from '../../../testing/databases.ts';
import { eventually } from '../../../testing/eventually.ts';
import { request } from '../../../testing/http.ts';
import { startWaypost, type WaypostProcess } from '../../../testing/waypost.ts';
import { follow, isState, look, Place, until } from './service.fixtures.ts';
import { startTarget } from './target.fixtures.ts';

const TAKEOVER = 10_000;

test('when a node dies, another serves its subscribers within ten seconds', { timeout: 120_000 }, async () => {
  const { url: database, drop } = await freshDatabase();
  const target = await startTarget();
  let nodes: WaypostProcess[] = await Promise.all([startWaypost({ database }), startWaypost({ database })]);
  try {
    const [dying, living] = nodes as [WaypostProcess, WaypostProcess];
    const topic = new Place(dying.url, 'topics', 't');
    const queue = new Place(dying.url, 'queues', 'q');
    await Promise.all([topic.create(), queue.create()]);
    // Registered at the node that is about to die, which serves them.
    await topic.register('post-message-once', `${target.url}/once/topic`);
    await queue.register('post-message-once', `${target.url}/once/queue`);
    await topic.post('topic 0');
    await queue.post('queue 0');
    await target.received(2);
    dying.kill('SIGKILL');
    await dying.exited;
    nodes = [living];
    const died = performance.now();
    const [topicThere, queueThere] = [new Place(living.url, 'topics', 't'), new Place(living.url, 'queues', 'q')];
    for (let i = 1; i <= 20; i++) {
      await topicThere.post(`topic ${i}`);
      await queueThere.post(`queue ${i}`);
    }
    const all = await target.received(42);
    const took = (all[2]?.at ?? 0) - died;
    assert.ok(took < TAKEOVER, `it took ${took} ms`);
    for (const kind of ['topic', 'queue']) {
      const bodies = all.map(({ body }) => body).filter((body) => body.startsWith(kind));
      assert.deepEqual(
        bodies,
        Array.from({ length: 21 }, (_, i) => `${kind} ${i}`),
      );
    }
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await target.close();
    await drop();
  }
});

test('whatever node is asked, the one that serves a subscriber does it', { timeout: 120_000 }, async () => {
  const { url: database, drop } = await freshDatabase();
  const target = await startTarget();
  const nodes = await Promise.all([startWaypost({ database }), startWaypost({ database })]);
  try {
    const [serving, asked] = nodes as [WaypostProcess, WaypostProcess];
    const queue = new Place(serving.url, 'queues', 'q');
    await queue.create();
    target.whim = (_, response) => {
      response.writeHead(503, { 'Retry-After': '1000' }).end();
      return true;
    };
    const subscriber = await queue.register('post-message', `${target.url}/in`);
    const there = asked.url + new URL(subscriber).pathname;
    await new Place(asked.url, 'queues', 'q').post('one');
    await until(there, 'it is retrying', isState('retrying'));
    await eventually('the attempt can be seen', async () => (await look(there)).attempts.length === 1);
    await follow(there, 'disable');
    await eventually('it is back in the queue', async () => {
      const answer = await request(queue.url);
      return answer.json<{ counts: { available: number } }>().counts.available === 1;
    });
    target.whim = undefined;
    await follow(there, 'enable');
    assert.equal((await target.received(1))[0]?.body, 'one');
    await until(subscriber, 'it is counted', ({ counters }) => counters.forwarded === 1);
    assert.equal((await request(there, { method: 'DELETE' })).status, 204);
    assert.equal((await request(subscriber)).status, 404);
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await target.close();
    await drop();
  }
});

test('nodes divide the subscribers, and each message is forwarded by one of them', { timeout: 120_000 }, async () => {
  const { url: database, drop } = await freshDatabase();
  const target = await startTarget();
  const first = await startWaypost({ database });
  const nodes = [first];
  try {
    const topic = new Place(first.url, 'topics', 't');
    await topic.create();
    const COUNT = 30;
    for (let i = 0; i < COUNT; i++) await topic.register('post-message-once', `${target.url}/once/${i}`);
    // The second node gets its share while messages are on their way.
    nodes.push(await startWaypost({ database }));
    const MESSAGES = 40;
    for (let i = 0; i < MESSAGES; i++) await topic.post(String(i));
    await target.received(COUNT * MESSAGES);
    const list = await request(`${topic.url}/subscribers`, { headers: { accept: 'application/json' } });
    await eventually('all are counted', async () => {
      const { items } = (await request(`${topic.url}/subscribers`, { headers: { accept: 'application/json' } })).json<{
        items: { counters: { forwarded: number } }[];
      }>();
      return items.every(({ counters }) => counters.forwarded === MESSAGES);
    });
    assert.equal(list.json<{ items: unknown[] }>().items.length, COUNT);
    assert.equal(target.accepted.length, COUNT * MESSAGES);
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await target.close();
    await drop();
  }
});
