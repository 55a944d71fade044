/**
 * Duties that only one node runs at a time: whoever has its id in the duty's row, as long as that node is there.
 *
 * That spares the database the same work twice, and nothing rests on it: a node that stands still within a step goes on with
 * that step beside its successor, since nothing fences it off. So a duty may be owned only if it is harmless when run twice:
 * every step decides by rows that it reads, and holds or changes, in one transaction; a time it read before is too early
 * and removes too little; what it remembers from earlier steps is where to look next, or is dropped when time has passed.
 * That holds for both that there are: pruning (prune.test.ts) and sweeping (sweep.test.ts). A duty that calls others, or
 * changes something by what it knows from before, needs an epoch, as transactions and subscribers have.
 */
import type { Membership } from '../nodes/membership.ts';
import { isGone } from '../nodes/queries.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Duty } from './duties.ts';

/** How often a node that does not own the duty asks whether it is free; it also asks when a node is gone. */
const ASK_AGAIN = 5000;

export function createOwnership(
  store: Store,
  membership: Pick<Membership, 'id' | 'isAlive' | 'ensureAlive'>,
): (name: string, duty: Duty) => Duty {
  return (name, duty) => {
    let ownedBy: string | undefined;
    return async () => {
      await membership.ensureAlive();
      const { id } = membership;
      // Nobody takes it from a node that is there, so it need not be asked for again: an idle service writes nothing.
      if (ownedBy !== id) ownedBy = (await store.transaction((tx) => own(tx, name, id))) ? id : undefined;
      return ownedBy === undefined || !membership.isAlive ? ASK_AGAIN : duty();
    };
  };
}

async function own(tx: Tx, name: string, node: string): Promise<boolean> {
  await tx.run('INSERT INTO duty (name, owner) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING', [name, node]);
  // Held first, so that what is known of the owner is not older than the row.
  await tx.get(`SELECT owner FROM duty WHERE name = $1 ${tx.dialect.forUpdate}`, [name]);
  const text = `UPDATE duty SET owner = $2 WHERE name = $1 AND (owner = $2 OR ${isGone('duty.owner')})`;
  return (await tx.run(text, [name, node])) > 0;
}
