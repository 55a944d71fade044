import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { News, Store, StoredMessage } from '../../store/store.ts';
import { createTopicWindow } from './topic-window.ts';

const TOPIC = 7;
/** A read that nobody answers would be waited for. */
const WITHIN = 10_000;

const message = (position: number): StoredMessage =>
  ({ id: position, position, body: Buffer.from(`${position}`) }) as StoredMessage;

/** A store whose reads are answered by hand, and which tells what it is told to tell. */
function handStore() {
  const reads: ((found: StoredMessage[]) => void)[] = [];
  const listeners: ((news: News) => void)[] = [];
  const store = {
    now: () => 0,
    read: () => new Promise((resolve) => reads.push(resolve as (typeof reads)[number])),
    listen: (listener: (news: News) => void) => void listeners.push(listener),
  } as unknown as Store;
  const tell = (news: News): void => {
    for (const listener of listeners) listener(news);
  };
  return { store, reads, tell };
}

const positions = (found: readonly StoredMessage[]) => found.map(({ position }) => position);

test('who asks for the same at the same time shares one read, and who comes later is served from memory', {
  timeout: WITHIN,
}, async () => {
  const { store, reads } = handStore();
  const window = createTopicWindow(store);
  const both = Promise.all([window.after(TOPIC, 0, 10), window.after(TOPIC, 0, 10)]);
  assert.equal(reads.length, 1);
  reads[0]?.([message(1), message(2)]);
  assert.deepEqual((await both).map(positions), [
    [1, 2],
    [1, 2],
  ]);
  assert.deepEqual(positions(await window.after(TOPIC, 1, 10)), [2]);
  assert.equal(reads.length, 1);
});

test('the end of a topic is read once for all who come to it, until something arrives', {
  timeout: WITHIN,
}, async () => {
  const { store, reads, tell } = handStore();
  const window = createTopicWindow(store);
  const first = window.after(TOPIC, 2, 10);
  reads[0]?.([]);
  assert.deepEqual(await first, []);
  for (let i = 0; i < 100; i++) assert.deepEqual(await window.after(TOPIC, 2, 10), []);
  assert.equal(reads.length, 1);

  tell({ arrived: new Map([[TOPIC + 1, 1]]) });
  await window.after(TOPIC, 2, 10);
  assert.equal(reads.length, 1, 'another topic is another matter');
  // Whoever stands before the end is not at the end.
  const before = window.after(TOPIC, 1, 10);
  assert.equal(reads.length, 2);
  reads[1]?.([message(2)]);
  assert.deepEqual(positions(await before), [2]);

  tell({ arrived: new Map([[TOPIC, 1]]) });
  const after = window.after(TOPIC, 2, 10);
  assert.equal(reads.length, 3);
  reads[2]?.([message(3)]);
  assert.deepEqual(positions(await after), [3]);
});

for (const [what, news] of [
  ['an arrival', { arrived: new Map([[TOPIC, 1]]) }],
  ['a loss of news', { everything: true }],
] as const) {
  test(`a read that began before ${what} is neither shared nor remembered after it`, { timeout: WITHIN }, async () => {
    const { store, reads, tell } = handStore();
    const window = createTopicWindow(store);
    const early = window.after(TOPIC, 2, 10);
    tell(news);
    const late = window.after(TOPIC, 2, 10);
    assert.equal(reads.length, 2);
    reads[0]?.([]);
    assert.deepEqual(await early, []);
    const later = window.after(TOPIC, 2, 10);
    reads[1]?.([message(3)]);
    assert.deepEqual(positions(await late), [3]);
    assert.deepEqual(positions(await later), [3]);
    assert.equal(reads.length, 2);
  });
}

test('a read that failed is not remembered', { timeout: WITHIN }, async () => {
  const { store, reads } = handStore();
  let fails = true;
  const window = createTopicWindow({
    ...store,
    read: (job) => (fails ? Promise.reject(new Error('away')) : store.read(job)),
  });
  await assert.rejects(window.after(TOPIC, 0, 10));
  fails = false;
  const again = window.after(TOPIC, 0, 10);
  reads[0]?.([message(1)]);
  assert.deepEqual(positions(await again), [1]);
});
