/** A node stands still for longer than its lease and goes on: with others there, and alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freshDatabase } from '../../../testing/databases.ts';
import { forEachEngine } from '../../../testing/engines.ts';
import { startWaypost, type WaypostProcess } from '../../../testing/waypost.ts';
import { Place } from './service.fixtures.ts';
import { startTarget } from './target.fixtures.ts';

const LEASE = 6000;
const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));

test('another takes over meanwhile, and the one that goes on sends nothing twice', { timeout: 120_000 }, async () => {
  const { url: database, drop } = await freshDatabase();
  const target = await startTarget();
  const nodes = await Promise.all([startWaypost({ database }), startWaypost({ database })]);
  const [serving, other] = nodes as [WaypostProcess, WaypostProcess];
  try {
    const topic = new Place(serving.url, 'topics', 't');
    await topic.create();
    await topic.register('post-message-once', `${target.url}/once/topic`);
    await topic.post('0');
    await target.received(1);
    serving.kill('SIGSTOP');
    const there = new Place(other.url, 'topics', 't');
    for (let i = 1; i < 10; i++) await there.post(String(i));
    await target.received(10);
    serving.kill('SIGCONT');
    for (let i = 10; i < 20; i++) await (i % 2 === 0 ? topic : there).post(String(i));
    const all = await target.received(20);
    assert.deepEqual(
      all.map(({ body }) => body),
      numbers(20),
    );
    assert.equal(target.accepted.length, 20);
  } finally {
    serving.kill('SIGCONT');
    await Promise.all(nodes.map((node) => node.stop()));
    await target.close();
    await drop();
  }
});

forEachEngine('a node that is alone', (engine) => {
  test('serves on what it served before', { timeout: 120_000 }, async () => {
    const database = await engine.database();
    const target = await startTarget();
    const node = await startWaypost({ args: database.args });
    try {
      const topic = new Place(node.url, 'topics', 't');
      await topic.create();
      await topic.register('post-message-once', `${target.url}/once/topic`);
      await topic.post('0');
      await target.received(1);
      node.kill('SIGSTOP');
      // Nothing tells that a lease is over but the time itself.
      await pause(LEASE + 500);
      node.kill('SIGCONT');
      for (let i = 1; i < 10; i++) await topic.post(String(i));
      const all = await target.received(10);
      assert.deepEqual(
        all.map(({ body }) => body),
        numbers(10),
      );
    } finally {
      node.kill('SIGCONT');
      await node.stop();
      await target.close();
      await database.drop();
    }
  });
});
