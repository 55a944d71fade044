/** Duties that only one node runs at a time: whoever has its id in the duty's row, as long as that node is there. */
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
