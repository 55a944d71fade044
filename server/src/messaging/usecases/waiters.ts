/**
 * Clients that wait for a message. A waiter is entered before it looks, so that no arrival slips between the look and the
 * sleep. One message wakes one taker, in the order they came, and everyone who only looks; a taker that was woken but
 * leaves empty-handed passes its wake-up on, so that none is lost.
 */
import { Problem } from '../../problems.ts';

/** How a sleep ends: something came, its time is over, or there is nothing to wait for any more. */
export type Ending = 'woken' | 'late' | 'sent home';

interface Entry {
  /** Woken since its last look. */
  woken: boolean;
  end: ((ending: Ending) => void) | undefined;
  /** There is nothing to wait for any more. */
  dismissed: boolean;
}

interface Place {
  readonly takers: Set<Entry>;
  readonly lookers: Set<Entry>;
}

export interface Waiter {
  /** Sleeps until woken or until the deadline (by `performance.now`). */
  sleep(deadline: number): Promise<Ending>;
  /** Ends a sleep that is under way, too. */
  leave(): void;
}

export interface Waiters {
  /** `taking`: it takes what it finds, so that one message serves one of them. */
  enter(destination: number, taking: boolean): Waiter;
  wake(destination: number, count: number): void;
  wakeAll(): void;
  /** Ends the waiting at a destination that has changed or is gone: who comes again meets what is there now. */
  dismiss(destination: number): void;
  destinations(): number[];
  readonly size: number;
  readonly stopped: boolean;
  /** Sends everyone home; later ones are not let in. */
  stop(): void;
}

export function createWaiters(limit: number): Waiters {
  const places = new Map<number, Place>();
  let size = 0;
  let stopped = false;

  function wakeEntry(entry: Entry): void {
    if (entry.end === undefined) entry.woken = true;
    else entry.end(stopped ? 'sent home' : 'woken');
  }

  function wake(destination: number, count: number): void {
    const place = places.get(destination);
    if (place === undefined) return;
    for (const entry of place.lookers) wakeEntry(entry);
    let left = count;
    for (const entry of place.takers) {
      if (left <= 0) return;
      if (entry.woken) continue;
      wakeEntry(entry);
      left--;
    }
  }

  function wakeAll(): void {
    for (const destination of places.keys()) wake(destination, Number.POSITIVE_INFINITY);
  }

  function sleep(entry: Entry, deadline: number): Promise<Ending> {
    const left = deadline - performance.now();
    if (stopped) return Promise.resolve('sent home');
    if (left <= 0) return Promise.resolve('late');
    // Also when it is dismissed: the first dead letter comes together with the change of its queue, and is to be taken.
    if (entry.woken) {
      entry.woken = false;
      return Promise.resolve('woken');
    }
    if (entry.dismissed) return Promise.resolve('sent home');
    return new Promise((resolve) => {
      const timer = setTimeout(() => entry.end?.('late'), left);
      entry.end = (ending) => {
        entry.end = undefined;
        clearTimeout(timer);
        resolve(ending);
      };
    });
  }

  return {
    wake,
    wakeAll,
    dismiss(destination) {
      const place = places.get(destination);
      for (const entry of [...(place?.takers ?? []), ...(place?.lookers ?? [])]) {
        entry.dismissed = true;
        entry.end?.('sent home');
      }
    },
    destinations: () => [...places.keys()],
    get size() {
      return size;
    },
    get stopped() {
      return stopped;
    },
    stop() {
      stopped = true;
      wakeAll();
    },
    enter(destination, taking) {
      if (size >= limit) {
        throw new Problem('busy', 'too many clients are waiting', { headers: { 'Retry-After': '5' } });
      }
      const entry: Entry = { woken: false, end: undefined, dismissed: false };
      const place = places.get(destination) ?? { takers: new Set(), lookers: new Set() };
      places.set(destination, place);
      const entries = taking ? place.takers : place.lookers;
      entries.add(entry);
      size++;
      return {
        // A client that hung up during its look has left already: nothing would ever end its sleep.
        sleep: (deadline) => (entries.has(entry) ? sleep(entry, deadline) : Promise.resolve('sent home')),
        leave() {
          if (!entries.delete(entry)) return;
          size--;
          if (place.takers.size + place.lookers.size === 0) places.delete(destination);
          entry.end?.('sent home');
          if (entry.woken && taking) wake(destination, 1);
        },
      };
    },
  };
}
