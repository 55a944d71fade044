import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forEachEngine } from '../../../../testing/engines.ts';
import { eventually } from '../../../../testing/eventually.ts';
import { insertDestination } from '../../messaging/queries/destinations.ts';
import { openStore } from '../../store/open.ts';
import type { Store } from '../../store/store.ts';
import { handOver } from '../queries/serving.ts';
import { findSubscriber, insertSubscriber, markActive, markDisabled } from '../queries/subscribers.ts';
import { createEngine, type Engine } from './engine.ts';
import { createRoster } from './roster.ts';

const NODE = 'this node';

/** An engine with one subscriber of a topic. What it sends does not matter here, only whether it is served. */
async function open(store: Store, letGo: (id: number) => Promise<void>) {
  const topic = { id: store.nextId(), kind: 'topic', name: 't', settings: {}, version: 1, created: 1 } as const;
  const id = store.nextId();
  await store.transaction(async (tx) => {
    await insertDestination(tx, topic);
    const wish = { rel: 'post-message', href: 'http://127.0.0.1:9/', secret: null } as const;
    const place = { id, destination: topic.id, kind: 'topic', created: 1, token: 1, position: 0 } as const;
    await insertSubscriber(tx, { ...wish, ...place, owner: NODE, configured: false });
  });
  const served: number[] = [];
  const engine: Engine = createEngine({
    store,
    node: { id: NODE, isAlive: true },
    roster: createRoster(),
    share: { take: async () => [], surplus: () => [] },
    pipeline: {
      async step(runner) {
        served.push(runner.subscriber.epoch);
        return 'idle';
      },
      letGo: ({ id }) => letGo(id),
      note: async () => {},
    },
    pathOf: () => undefined,
    breakOff: () => {},
    onError: (error) => {
      throw error;
    },
  });
  return { engine, id, served, topic };
}

forEachEngine('serving', (engine) => {
  test('one that is enabled again while it is being let go is served on', async (t) => {
    const database = await engine.database();
    const { data = '', database: url } = database.options as { data?: string; database?: string };
    const store = await openStore({ folder: data, database: url, reserveBytes: 0 }, () => {});
    const {
      engine: serving,
      id,
      served,
      topic,
    } = await open(store, async (id) => {
      await store.transaction((tx) => handOver(tx, NODE, id));
      // It belongs to nobody now, and this node has not taken note of that yet.
      await store.transaction((tx) => markActive(tx, id, false, NODE));
      await serving.notice();
    });
    t.after(async () => {
      await serving.stop(1000);
      await store.close();
      await database.drop();
    });
    await serving.notice();
    await eventually('it is served, though nobody asked but the mark', () => served.length === 1);
    await store.transaction((tx) => markDisabled(tx, id));
    await serving.notice();
    await eventually('it is served again', () => served.length === 2);
    const found = await store.read((tx) => findSubscriber(tx, topic.id, id));
    assert.equal(served[1], found?.epoch);
  });
});
