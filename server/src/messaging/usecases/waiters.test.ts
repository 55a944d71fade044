import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWaiters } from './waiters.ts';

const FAR = 60_000;

test('a message wakes one taker, in the order they came, and all who look', async () => {
  const waiters = createWaiters(10);
  const [first, second] = [waiters.enter(1, true), waiters.enter(1, true)];
  const lookers = [waiters.enter(1, false), waiters.enter(1, false)];
  const deadline = performance.now() + FAR;
  const sleeping = [first, ...lookers].map((waiter) => waiter.sleep(deadline));
  const other = second.sleep(deadline);
  waiters.wake(1, 1);
  assert.deepEqual(await Promise.all(sleeping), ['woken', 'woken', 'woken']);
  second.leave();
  assert.equal(await other, 'sent home');
});

test('a taker that was woken and leaves passes its wake-up on', async () => {
  const waiters = createWaiters(10);
  const [first, second] = [waiters.enter(1, true), waiters.enter(1, true)];
  const sleeping = second.sleep(performance.now() + FAR);
  waiters.wake(1, 1);
  first.leave();
  assert.equal(await sleeping, 'woken');
});

test('who has left does not sleep: the process could not end before its deadline', async () => {
  const waiters = createWaiters(10);
  const waiter = waiters.enter(1, true);
  waiter.leave();
  assert.equal(await waiter.sleep(performance.now() + FAR), 'sent home');
  assert.equal(waiters.size, 0);
});

test('stopping sends everyone home', async () => {
  const waiters = createWaiters(10);
  const waiter = waiters.enter(1, true);
  const sleeping = waiter.sleep(performance.now() + FAR);
  waiters.stop();
  assert.equal(await sleeping, 'sent home');
  assert.equal(await waiter.sleep(performance.now() + FAR), 'sent home');
});

test('who waits at a destination that changed is sent home, asleep or looking', async () => {
  const waiters = createWaiters(10);
  const [asleep, looking, looker, elsewhere] = [
    waiters.enter(1, true),
    waiters.enter(1, true),
    waiters.enter(1, false),
    waiters.enter(2, true),
  ];
  const [first, third, fourth] = [
    asleep.sleep(performance.now() + FAR),
    looker.sleep(performance.now() + FAR),
    elsewhere.sleep(performance.now() + FAR),
  ];
  waiters.dismiss(1);
  assert.deepEqual(
    [await first, await looking.sleep(performance.now() + FAR), await third],
    ['sent home', 'sent home', 'sent home'],
  );
  waiters.wake(2, 1);
  assert.equal(await fourth, 'woken');
  for (const waiter of [asleep, looking, looker, elsewhere]) waiter.leave();
  assert.equal(waiters.size, 0);
});

test('one that is woken and dismissed during its look looks once more before it goes', async () => {
  const waiters = createWaiters(10);
  const looking = waiters.enter(1, true);
  waiters.wake(1, 1);
  waiters.dismiss(1);
  assert.equal(await looking.sleep(performance.now() + FAR), 'woken');
  assert.equal(await looking.sleep(performance.now() + FAR), 'sent home');
  looking.leave();
});

test('one whose time is over is told so', async () => {
  const waiters = createWaiters(10);
  const waiter = waiters.enter(1, true);
  assert.equal(await waiter.sleep(performance.now() + 1), 'late');
  assert.equal(await waiter.sleep(performance.now() - 1), 'late');
  waiter.leave();
});
