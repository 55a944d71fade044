import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Destination } from '../destination.ts';
import type { Waiters } from './waiters.ts';
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
