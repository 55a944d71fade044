import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Destination } from '../destination.ts';
import { createWaiters, type Waiters } from './waiters.ts';
import { type Client, createWaiting } from './waiting.ts';

/** As a connection has it: who says goodbye may still read, unless it was waiting for something that may never come. */
function half(): { client: Client; leave(): void } {
  let watched = false;
  let left = false;
  const client: Client = {
    get gone() {
      return left && watched;
    },
    onGone() {
      watched = true;
      return () => {};
    },
    unwatched: false,
    onUnwatched: () => () => {},
  };
  return {
    client,
    leave: () => {
      left = true;
    },
  };
}

test('who waits and leaves during the first look is gone; who does not wait may still read', async () => {
  const { waitFor } = createWaiting({} as Waiters);
  for (const [wait, gone] of [
    [5, true],
    [0, false],
  ] as const) {
    const { client, leave } = half();
    const found = await waitFor({ id: 1 } as Destination, { wait, taking: true }, client, async () => {
      leave();
      return ['a message'];
    });
    // What was found is given back, or not, by whoever took it.
    assert.deepEqual(found, ['a message']);
    assert.equal(client.gone, gone, `${wait}`);
  }
});

const patient: Client = { gone: false, onGone: () => () => {}, unwatched: false, onUnwatched: () => () => {} };
const place = { id: 1 } as Destination;

test('nobody is told that nothing came without a look at the end of the wait', async () => {
  for (const taking of [true, false]) {
    const { waitFor } = createWaiting(createWaiters(10));
    let looks = 0;
    // The store goes away while the client sleeps, and news of it never comes.
    const away = async (): Promise<string[]> => {
      looks++;
      if (looks > 2) throw new Error('the store is away');
      return [];
    };
    await assert.rejects(waitFor(place, { wait: 0.01, taking }, patient, away), /the store is away/);
    looks = 0;
    // What came without news is found, too.
    const late = async (): Promise<string[]> => (++looks > 2 ? ['a message'] : []);
    assert.deepEqual(await waitFor(place, { wait: 0.01, taking }, patient, late), ['a message']);
  }
});

test('who has left, or is sent home, is not looked for again', async () => {
  const waiters = createWaiters(10);
  const { waitFor } = createWaiting(waiters);
  for (const end of ['leave', 'dismiss', 'stop'] as const) {
    let looks = 0;
    let leave = (): void => {};
    const client = {
      ...patient,
      onGone(callback: () => void) {
        leave = callback;
        return () => {};
      },
    };
    const found = waitFor(place, { wait: 60, taking: true }, client, async () => {
      looks++;
      if (looks === 2) {
        // Once it sleeps.
        setImmediate(() => {
          if (end === 'leave') {
            client.gone = true;
            leave();
          } else if (end === 'dismiss') waiters.dismiss(1);
          else waiters.stop();
        });
      }
      return [];
    });
    assert.deepEqual(await found, [], end);
    assert.equal(looks, 2, end);
  }
});

test('nothing is taken later than at once for a client that would not be seen to leave; who only looks may wait', async () => {
  const waiters = createWaiters(10);
  const { waitFor } = createWaiting(waiters);
  const deaf: Client = { ...patient, unwatched: true };
  assert.deepEqual(await waitFor(place, { wait: 60, taking: true }, deaf, async () => ['at once']), ['at once']);
  assert.deepEqual(await waitFor(place, { wait: 60, taking: true }, deaf, async () => []), []);
  assert.equal(waiters.size, 0);
  const looks = [[], [], ['later']];
  const looking = waitFor(place, { wait: 60, taking: false }, deaf, async () => {
    setImmediate(() => waiters.wake(1, 1));
    return looks.shift() ?? [];
  });
  assert.deepEqual(await looking, ['later']);

  let goDeaf = (): void => {};
  const going: Client = {
    ...patient,
    onUnwatched(callback) {
      goDeaf = callback;
      return () => {};
    },
  };
  const waiting = waitFor(place, { wait: 60, taking: true }, going, async () => {
    setImmediate(() => goDeaf());
    return [];
  });
  assert.deepEqual(await waiting, []);
  assert.equal(waiters.size, 0);
});
