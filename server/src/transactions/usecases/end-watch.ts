/** Tells those who wait when a transaction has ended, wherever it was driven. */
import type { Store } from '../../store/store.ts';
import { isFinal, type TransactionState } from '../protocol.ts';
import { findTransaction } from '../queries/log.ts';

export interface EndWatch {
  /**
   * Resolves when it has ended or the time is over. Who wanted a commit is told soon that it is sure to be rolled back,
   * even if some participant cannot be reached.
   */
  ended(id: number, wanted: 'committed' | 'rolled-back', milliseconds: number): Promise<void>;
  /** The service is stopping: nobody waits much longer. */
  drain(): void;
}

/** An announcement may be lost; a look this often finds the end all the same. */
const LOOK_EVERY = 1000;
const ROLLBACK_PATIENCE = 1000;
const DRAIN_PATIENCE = 2000;

export function createEndWatch(store: Store): EndWatch {
  const watching = new Map<number, Set<() => void>>();
  let drainedAt = Number.POSITIVE_INFINITY;

  store.listen(({ changed, everything }) => {
    const touched = everything ? [...watching.keys()] : (changed ?? []);
    for (const id of touched) for (const look of watching.get(id) ?? []) look();
  });

  async function stateOf(id: number): Promise<TransactionState | undefined> {
    return (await store.read((tx) => findTransaction(tx, id)))?.state;
  }

  return {
    drain() {
      drainedAt = performance.now() + DRAIN_PATIENCE;
    },
    async ended(id, wanted, milliseconds) {
      let deadline = performance.now() + milliseconds;
      let shortened = false;
      for (;;) {
        // Entered before the look, so that a change in between is not missed.
        const { promise: changed, resolve } = Promise.withResolvers<void>();
        const looks = watching.get(id) ?? new Set();
        watching.set(id, looks.add(resolve));
        try {
          const state = await stateOf(id);
          if (state === undefined || isFinal(state)) return;
          if (state === 'rolling-back' && wanted === 'committed' && !shortened) {
            deadline = Math.min(deadline, performance.now() + ROLLBACK_PATIENCE);
            shortened = true;
          }
          const left = Math.min(LOOK_EVERY, Math.min(deadline, drainedAt) - performance.now());
          if (left <= 0) return;
          const timer = setTimeout(resolve, left);
          await changed;
          clearTimeout(timer);
        } finally {
          looks.delete(resolve);
          if (looks.size === 0) watching.delete(id);
        }
      }
    },
  };
}
