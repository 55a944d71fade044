import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSealer } from '../../ids.ts';
import type { News, Store } from '../../store/store.ts';
import { makeDestination } from '../destination.ts';
import { createReading } from './reading.ts';
import { createWaiters } from './waiters.ts';
import { createWaiting } from './waiting.ts';

test('who comes after the news of a message does not join a look that began before it', async () => {
  const listeners: ((news: News) => void)[] = [];
  const looks: (() => void)[] = [];
  const tx = {
    dialect: { places: [{ message: 'message', delivery: 'delivery' }] },
    // The position is known at once; a look for messages waits until the test lets it find nothing.
    get: (text: string) =>
      text.includes('topic_position')
        ? Promise.resolve({ last: 5 })
        : new Promise<undefined>((resolve) => looks.push(() => resolve(undefined))),
  };
  const store = {
    now: () => 0,
    listen: (listener: (news: News) => void) => void listeners.push(listener),
    read: (job: (each: typeof tx) => Promise<unknown>) => job(tx),
  } as unknown as Store;
  const sealer = createSealer(Buffer.alloc(32));
  const reading = createReading(store, createWaiting(createWaiters(10)), sealer);
  const record = { id: 1, kind: 'topic', name: 't', settings: {}, version: 1, created: 0 } as const;
  const topic = makeDestination(record, false);
  const client = { gone: false, onGone: () => () => {}, unwatched: false, onUnwatched: () => () => {} };
  const position = await reading.position(topic);
  const read = () => reading.after(topic, position, { max: 1, wait: 0 }, client);
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  const readers = [read(), read()];
  await turn();
  assert.equal(looks.length, 1, 'two that come together share a look');
  for (const listener of listeners) listener({ arrived: new Map([[1, 1]]) });
  readers.push(read());
  await turn();
  assert.equal(looks.length, 2, 'the one after the news has a look of its own');
  for (const finish of looks) finish();
  await Promise.all(readers);
});
