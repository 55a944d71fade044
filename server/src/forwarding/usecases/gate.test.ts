import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGate } from './gate.ts';

const LIMITS = { perHost: 2, calls: 4, retries: 1, bytes: 1000 };

/** Whether the promise is settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol();
  await new Promise((resolve) => setImmediate(resolve));
  return (await Promise.race([promise, Promise.resolve(open)])) !== open;
}

test('a busy host makes only its own callers wait, in their order', async () => {
  const gate = createGate(LIMITS);
  const leave = await gate.enter('a', 1, false);
  await gate.enter('a', 1, false);
  const third = gate.enter('a', 1, false);
  const fourth = gate.enter('a', 1, false);
  assert.equal(await isSettled(third), false);
  await gate.enter('b', 1, false);
  leave();
  (await third)();
  await fourth;
});

test('calls that are repeated do not take the room of first ones', async () => {
  const gate = createGate(LIMITS);
  const leave = await gate.enter('a', 1, true);
  const waiting = gate.enter('b', 1, true);
  assert.equal(await isSettled(waiting), false);
  await gate.enter('a', 1, false);
  leave();
  await waiting;
});

test('bytes are bounded, but a message larger than the bound passes alone', async () => {
  const gate = createGate(LIMITS);
  const leave = await gate.enter('a', 5000, false);
  const small = gate.enter('b', 1, false);
  assert.equal(await isSettled(small), false);
  leave();
  await small;
});

test('no more calls than the limit are under way, and all get their turn', async () => {
  const gate = createGate(LIMITS);
  let now = 0;
  let most = 0;
  const call = async (host: string): Promise<void> => {
    const leave = await gate.enter(host, 10, false);
    most = Math.max(most, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
    leave();
  };
  await Promise.all(Array.from({ length: 200 }, (_, i) => call(`host ${i % 7}`)));
  assert.equal(most, LIMITS.calls);
});
