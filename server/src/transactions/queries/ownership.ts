/** SQL of who drives which transaction, and of what is due: the same text on both engines. */
import { isGone } from '../../nodes/queries.ts';
import type { Tx } from '../../store/store.ts';

const RUNNING = `state IN ('preparing', 'committing', 'rolling-back')`;

/** Takes over running transactions whose owner is no more. The raised epoch fences the old owner off. */
export async function takeOver(tx: Tx, node: string, limit: number): Promise<{ id: number; state: string }[]> {
  return tx.all<{ id: number; state: string }>(
    `UPDATE txn SET owner = $1, epoch = epoch + 1 WHERE id IN
       (SELECT id FROM txn WHERE ${RUNNING} AND owner <> $1 AND ${isGone('txn.owner')}
        LIMIT $2 ${tx.dialect.skipLocked})
     RETURNING id, state`,
    [node, limit],
  );
}

/** Transactions nobody committed in time. */
export async function overdue(tx: Tx, now: number, limit: number): Promise<number[]> {
  const text = `SELECT id FROM txn WHERE state = 'uncommitted' AND deadline <= $1 ORDER BY deadline LIMIT $2`;
  return (await tx.all<{ id: number }>(text, [now, limit])).map(({ id }) => id);
}

/** Transactions of this node in which someone is to be asked again. */
export async function withDueParticipants(tx: Tx, node: string, now: number, limit: number): Promise<number[]> {
  const rows = await tx.all<{ id: number }>(
    `SELECT DISTINCT txn.id FROM participant JOIN txn ON txn.id = participant.txn
     WHERE participant.next_try <= $1 AND txn.owner = $2 AND txn.${RUNNING} LIMIT $3`,
    [now, node, limit],
  );
  return rows.map(({ id }) => id);
}

/** Transactions of this node that are under way, by their ids. */
export async function ownedRunning(tx: Tx, node: string, after: number, limit: number): Promise<number[]> {
  const text = `SELECT id FROM txn WHERE owner = $1 AND ${RUNNING} AND id > $2 ORDER BY id LIMIT $3`;
  return (await tx.all<{ id: number }>(text, [node, after, limit])).map(({ id }) => id);
}

/** Forgets transactions that ended long ago. Gives how many. */
export async function forgetFinished(tx: Tx, before: number, limit: number): Promise<number> {
  const rows = await tx.all<{ id: number }>(
    `DELETE FROM txn WHERE id IN
       (SELECT id FROM txn WHERE finished IS NOT NULL AND finished <= $1 ORDER BY finished LIMIT $2 ${tx.dialect.skipLocked})
     RETURNING id`,
    [before, limit],
  );
  if (rows.length === 0) return 0;
  await tx.run(`DELETE FROM participant WHERE txn ${tx.dialect.inList('$1')}`, [
    tx.dialect.list(rows.map(({ id }) => id)),
  ]);
  return rows.length;
}
