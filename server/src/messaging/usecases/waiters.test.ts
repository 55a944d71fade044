import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWaiters } from './waiters.ts';

const soon = (): number => performance.now() + 20_000;

test('who waits at a destination that changed is sent home, asleep or looking', async () => {
  const waiters = createWaiters(10);
  const [asleep, looking, looker, elsewhere] = [
    waiters.enter(1, true),
    waiters.enter(1, true),
    waiters.enter(1, false),
    waiters.enter(2, true),
  ];
  const [first, third, fourth] = [asleep.sleep(soon()), looker.sleep(soon()), elsewhere.sleep(soon())];
  waiters.dismiss(1);
  assert.deepEqual([await first, await looking.sleep(soon()), await third], [false, false, false]);
  waiters.wake(2, 1);
  assert.equal(await fourth, true);
  for (const waiter of [asleep, looking, looker, elsewhere]) waiter.leave();
  assert.equal(waiters.size, 0);
});
