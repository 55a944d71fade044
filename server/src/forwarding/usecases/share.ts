/**
 * Which subscribers this node serves: those that no living node does, up to its fair share, so that several nodes divide
 * the work. A node that has many more than its share hands some over.
 */
import type { Membership } from '../../nodes/membership.ts';
import type { Store } from '../../store/store.ts';
import { countServed, takeOver } from '../queries/serving.ts';
import type { Subscriber } from '../subscriber.ts';
import type { Roster } from './roster.ts';
import type { Runner } from './runner.ts';

export interface Share {
  take(): Promise<Subscriber[]>;
  /** Runners to be handed over now; none while nothing is out of balance. */
  surplus(): Runner[];
}

const AT_ONCE = 500;
/** Counting all subscribers costs more the more there are; it need not be exact. */
const COUNT_EVERY = 5000;
/** A little imbalance is not worth moving a subscriber. */
const TOLERANCE = 1.2;
const HANDED_OVER_AT_ONCE = 50;

export function createShare(store: Store, node: Pick<Membership, 'id' | 'count'>, roster: Roster): Share {
  let served = 0;
  let countedAt = Number.NEGATIVE_INFINITY;

  async function count(): Promise<void> {
    if (performance.now() - countedAt <= COUNT_EVERY) return;
    served = await store.read(countServed);
    countedAt = performance.now();
  }

  const fair = (): number => (node.count === 1 ? Number.POSITIVE_INFINITY : Math.ceil(served / node.count) + 1);

  return {
    async take() {
      await count();
      const taken: Subscriber[] = [];
      for (;;) {
        const room = Math.min(AT_ONCE, fair() - roster.size - taken.length);
        if (room <= 0) return taken;
        const owner = node.id;
        const found = await store.transaction((tx) => takeOver(tx, owner, room));
        taken.push(...found);
        if (found.length < room) return taken;
      }
    },
    surplus() {
      const excess = Math.min(HANDED_OVER_AT_ONCE, roster.size - Math.ceil(fair() * TOLERANCE));
      if (!(excess > 0)) return [];
      const chosen: Runner[] = [];
      for (const runner of roster.all()) {
        if (chosen.length >= excess) break;
        if (!runner.handOver && !runner.stop) chosen.push(runner);
      }
      return chosen;
    },
  };
}
