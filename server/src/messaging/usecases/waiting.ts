/** Waiting for a message: look, and while there is nothing sleep until something arrives. */
import type { Destination } from '../destination.ts';
import type { Waiters } from './waiters.ts';

/** The client at the other end, as far as it matters: nothing is taken for one that has hung up. */
export interface Client {
  readonly gone: boolean;
  /** Gives a function that takes the wish back: a stream waits many times for one client. */
  onGone(callback: () => void): () => void;
  /** Whether it would go unnoticed if it hung up. Then nothing is taken later than at once: it may be for nobody. */
  readonly unwatched: boolean;
  /** Calls back when that begins; gives the same. */
  onUnwatched(callback: () => void): () => void;
}

/** What a client asks for: so many messages, waiting so many seconds when there are none. */
export interface Wanted {
  readonly max: number;
  readonly wait: number;
}

/** The most content one answer carries. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export interface Waiting {
  /** Gives what `look` finds, at the latest after so many seconds. `taking`: looking takes the message. */
  waitFor<T>(
    destination: Destination,
    { wait, taking }: { wait: number; taking: boolean },
    client: Client,
    look: () => Promise<readonly T[]>,
  ): Promise<readonly T[]>;
}

export function createWaiting(waiters: Waiters): Waiting {
  return {
    async waitFor({ id }, { wait, taking }, client, look) {
      if (wait <= 0) return look();
      // Watched from the first look on, which may take its time: one that leaves meanwhile is gone, too.
      const stopWatching = client.onGone(() => {});
      try {
        const first = await look();
        if (first.length > 0) return first;
      } finally {
        stopWatching();
      }
      if (taking && client.unwatched) return [];
      const deadline = performance.now() + wait * 1000;
      // Entered before the next look: what arrives in between wakes it.
      const waiter = waiters.enter(id, taking);
      const forget = client.onGone(waiter.leave);
      // Whoever only looks takes nothing from others, and may go on.
      const forgetUnwatched = taking ? client.onUnwatched(waiter.leave) : forget;
      let isLast = false;
      try {
        for (;;) {
          if (client.gone) {
            // The wake-up that may have come belongs to the next in line.
            if (taking) waiters.wake(id, 1);
            return [];
          }
          const found = await look();
          if (found.length > 0 || isLast || performance.now() >= deadline) return found;
          const ending = await waiter.sleep(deadline);
          if (ending === 'sent home') return [];
          // Nothing came, or the store is away and nobody was told of what did. Only a look can tell, and may fail.
          isLast = ending === 'late';
        }
      } finally {
        forget();
        forgetUnwatched();
        waiter.leave();
      }
    },
  };
}
