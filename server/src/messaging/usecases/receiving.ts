/** Use cases of receiving: taking, looking, and waiting for what comes. */
import { newToken } from '../../ids.ts';
import type { ClaimedMessage, Store } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import { type FoundMessage, peekQueue, putBack } from '../queries/messages.ts';
import type { Waiters } from './waiters.ts';

/** The client at the other end, as far as it matters: nothing is taken for one that has hung up. */
export interface Client {
  readonly gone: boolean;
  onGone(callback: () => void): void;
}

export interface Wanted {
  readonly max: number;
  /** Seconds to wait when there is nothing. */
  readonly wait: number;
}

export interface Receiving {
  /** Takes messages off the queue for good. */
  receive(queue: Destination, wanted: Wanted, client: Client): Promise<readonly ClaimedMessage[]>;
  /** Looks at what `receive` would give. */
  peek(queue: Destination, wanted: Wanted, client: Client): Promise<readonly FoundMessage[]>;
}

/** The most content one answer carries. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export function createReceiving(store: Store, waiters: Waiters): Receiving {
  /** Looks, and while there is nothing sleeps until something arrives. Entered before the look: nothing slips through. */
  async function waitFor<T>(
    queue: Destination,
    wait: number,
    client: Client,
    look: () => Promise<readonly T[]>,
  ): Promise<readonly T[]> {
    const first = await look();
    if (first.length > 0 || wait <= 0) return first;
    const deadline = performance.now() + wait * 1000;
    const waiter = waiters.enter(queue.id);
    client.onGone(waiter.leave);
    try {
      for (;;) {
        if (client.gone) {
          // The wake-up that may have come belongs to the next in line.
          waiters.wake(queue.id, 1);
          return [];
        }
        const found = await look();
        if (found.length > 0) return found;
        if (!(await waiter.sleep(deadline))) return [];
      }
    } finally {
      waiter.leave();
    }
  }

  async function take(queue: Destination, max: number): Promise<readonly ClaimedMessage[]> {
    const now = store.now();
    return store.messages.claim({
      destination: queue.id,
      max,
      maxBytes: MAX_ANSWER_BYTES,
      mode: 'consume',
      due: now + queue.effective.retention * 1000,
      token: newToken(),
      now,
    });
  }

  /** The client was found gone after its messages were taken: they go back to their place. */
  async function giveBack(queue: Destination, taken: readonly ClaimedMessage[]): Promise<void> {
    const returned = await store.transaction(async (tx) => {
      let count = 0;
      for (const { id, token } of taken) if (await putBack(tx, id, token)) count++;
      return count;
    });
    if (returned > 0) store.announce({ arrived: new Map([[queue.id, returned]]) });
  }

  return {
    async receive(queue, { max, wait }, client) {
      const taken = await waitFor(queue, wait, client, () => take(queue, max));
      if (taken.length === 0 || !client.gone) return taken;
      await giveBack(queue, taken);
      return [];
    },
    async peek(queue, { max, wait }, client) {
      const found = await waitFor(queue, wait, client, () =>
        store.read((tx) => peekQueue(tx, queue.id, { max, maxBytes: MAX_ANSWER_BYTES, now: store.now() })),
      );
      // Looking takes nothing: the next in line must not miss what woke this one.
      if (found.length > 0 && wait > 0) waiters.wake(queue.id, 1);
      return found;
    },
  };
}
