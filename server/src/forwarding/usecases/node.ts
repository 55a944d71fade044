/**
 * This node among others: it says every two seconds that it is alive, so that another takes over its subscribers when it
 * is not. A node that could not say so in time takes a new name: what it owned belongs to whoever comes first.
 */
import { randomUUID } from 'node:crypto';
import type { Store } from '../../store/store.ts';
import { beat, forgetNodes, forgetPredecessors, retire } from '../queries/serving.ts';

/** A node that has not been heard of for this long is dead. */
const LIFE = 6000;
export const BEAT_EVERY = 2000;
/** This node stops a little before others begin. */
const MARGIN = 500;
const REMEMBERED = 3_600_000;

export interface Node {
  /** Its present name. */
  readonly id: string;
  /** Whether others still hold this node for alive, by its own monotonic clock. */
  readonly isAlive: boolean;
  /** True when it has a new name now, and owns nothing. */
  beat(): Promise<boolean>;
  retire(): Promise<void>;
}

/** `place` names the machine and the port on which this process alone can listen. */
export function createNode(store: Store, place: () => string): Node {
  let id = randomUUID();
  let aliveUntil = 0;
  let isFirst = true;
  const isAlive = (): boolean => performance.now() < aliveUntil;
  return {
    get id() {
      return id;
    },
    get isAlive() {
      return isAlive();
    },
    async beat() {
      const wasDead = !isAlive();
      if (wasDead) id = randomUUID();
      const name = id;
      const where = place();
      // Counted from before the write, so that this node never thinks itself alive for longer than others do.
      const sent = performance.now();
      const now = store.now();
      await store.transaction(async (tx) => {
        // Only one process at a time opens the embedded store, so there is nobody else.
        if (isFirst && store.engine === 'sqlite') await forgetNodes(tx, Number.MAX_SAFE_INTEGER);
        if (isFirst) await forgetPredecessors(tx, where);
        if (wasDead) await forgetNodes(tx, now - REMEMBERED);
        await beat(tx, name, where, now + LIFE);
      });
      isFirst = false;
      aliveUntil = sent + LIFE - MARGIN;
      return wasDead;
    },
    async retire() {
      aliveUntil = 0;
      await store.transaction((tx) => retire(tx, id));
    },
  };
}
