/** This node among others: it says from time to time that it is alive, so that another takes over when it is not. */
import { randomUUID } from 'node:crypto';
import type { Store } from '../../store/store.ts';
import { beat, retire } from '../queries/ownership.ts';

/** A node that has not been heard of for this long is dead. */
const LIFE = 6000;
export const BEAT_EVERY = 2000;

export interface Membership {
  readonly node: string;
  /** Whether others still hold this node for alive, by its own monotonic clock. */
  readonly isAlive: boolean;
  /** Makes sure that it stays alive for a while. An idle node says nothing, so that it writes nothing. */
  ensureAlive(): Promise<void>;
  retire(): Promise<void>;
}

/** `monotonic` never goes back, whatever happens to the clock of the machine. */
export function createMembership(store: Store, monotonic: () => number): Membership {
  const node = randomUUID();
  let aliveUntil = 0;
  let beating: Promise<void> | undefined;

  async function sayAlive(): Promise<void> {
    // Counted from before the write, so that this node stops before another begins.
    const sent = monotonic();
    await store.transaction((tx) => beat(tx, node, store.now() + LIFE));
    aliveUntil = sent + LIFE;
  }

  return {
    node,
    get isAlive() {
      return monotonic() < aliveUntil;
    },
    async ensureAlive() {
      if (aliveUntil - monotonic() > LIFE - BEAT_EVERY) return;
      beating ??= sayAlive().finally(() => {
        beating = undefined;
      });
      await beating;
    },
    async retire() {
      if (aliveUntil === 0) return;
      aliveUntil = 0;
      await store.transaction((tx) => retire(tx, node));
    },
  };
}
