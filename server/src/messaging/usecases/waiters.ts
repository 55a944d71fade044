/**
 * Clients that wait for a message. A waiter is entered before it looks, so that no arrival slips between the look and the
 * sleep. One message wakes one waiter of a queue, in the order they came; a waiter that was woken but leaves empty-handed
 * passes its wake-up on, so that none is lost.
 */
import { Problem } from '../../problems.ts';

interface Entry {
  /** Woken since its last look. */
  woken: boolean;
  /** Ends its sleep: with true when woken, false when it is over. */
  end: ((woken: boolean) => void) | undefined;
}

export interface Waiter {
  /** Sleeps until woken or until the deadline (by `performance.now`). False: it is over, nothing came. */
  sleep(deadline: number): Promise<boolean>;
  /** Ends a sleep that is under way, too. */
  leave(): void;
}

export interface Waiters {
  enter(destination: number): Waiter;
  wake(destination: number, count: number): void;
  wakeAll(destination: number): void;
  destinations(): number[];
  readonly size: number;
  /** Sends everyone home; later ones are not let in. */
  stop(): void;
}

export function createWaiters(limit: number): Waiters {
  const queues = new Map<number, Set<Entry>>();
  let size = 0;
  let stopped = false;

  function wakeEntry(entry: Entry): void {
    if (entry.end === undefined) entry.woken = true;
    else entry.end(!stopped);
  }

  function wake(destination: number, count: number): void {
    let left = count;
    for (const entry of queues.get(destination) ?? []) {
      if (left <= 0) return;
      if (entry.woken) continue;
      wakeEntry(entry);
      left--;
    }
  }

  return {
    wake,
    wakeAll: (destination) => wake(destination, Number.POSITIVE_INFINITY),
    destinations: () => [...queues.keys()],
    get size() {
      return size;
    },
    stop() {
      stopped = true;
      for (const destination of queues.keys()) wake(destination, Number.POSITIVE_INFINITY);
    },
    enter(destination) {
      if (size >= limit) {
        throw new Problem('busy', 'too many clients are waiting', { headers: { 'Retry-After': '5' } });
      }
      const entry: Entry = { woken: false, end: undefined };
      const entries = queues.get(destination) ?? new Set();
      queues.set(destination, entries.add(entry));
      size++;
      return {
        sleep(deadline) {
          const left = deadline - performance.now();
          if (stopped || left <= 0) return Promise.resolve(false);
          if (entry.woken) {
            entry.woken = false;
            return Promise.resolve(true);
          }
          return new Promise((resolve) => {
            const timer = setTimeout(() => entry.end?.(false), left);
            entry.end = (woken) => {
              entry.end = undefined;
              clearTimeout(timer);
              resolve(woken);
            };
          });
        },
        leave() {
          if (!entries.delete(entry)) return;
          size--;
          if (entries.size === 0 && queues.get(destination) === entries) queues.delete(destination);
          entry.end?.(false);
          if (entry.woken) wake(destination, 1);
        },
      };
    },
  };
}
