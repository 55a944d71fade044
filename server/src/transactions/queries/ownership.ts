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

/** Takes over one transaction of phase two whose row is held, if its owner is no more. */
export async function takeIfLost(tx: Tx, id: number, node: string): Promise<void> {
  await tx.run(
    `UPDATE txn SET owner = $2, epoch = epoch + 1
     WHERE id = $1 AND state IN ('committing', 'rolling-back') AND owner <> $2 AND ${isGone('txn.owner')}`,
    [id, node],
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

/** Forgets transactions that ended long ago, but for the fact that they were there. Gives how many. */
export async function forgetFinished(tx: Tx, before: number, until: number, limit: number): Promise<number> {
  const { skipLocked, list, inList } = tx.dialect;
  const text = `SELECT id FROM txn WHERE finished IS NOT NULL AND finished <= $1 ORDER BY finished LIMIT $2 ${skipLocked}`;
  const rows = await tx.all<{ id: number }>(text, [before, limit]);
  if (rows.length === 0) return 0;
  const ids = list(rows.map(({ id }) => id));
  await tx.run(`INSERT INTO forgotten_txn (id, until) SELECT id, $2 FROM txn WHERE id ${inList('$1')}`, [ids, until]);
  await tx.run(`DELETE FROM txn WHERE id ${inList('$1')}`, [ids]);
  await tx.run(`DELETE FROM participant WHERE txn ${inList('$1')}`, [ids]);
  return rows.length;
}

/** Forgets that too. Gives how many. */
export function forgetForgotten(tx: Tx, now: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM forgotten_txn WHERE id IN
       (SELECT id FROM forgotten_txn WHERE until <= $1 ORDER BY until LIMIT $2 ${tx.dialect.skipLocked})`,
    [now, limit],
  );
}

export async function wasForgotten(tx: Tx, id: number): Promise<boolean> {
  return (await tx.get('SELECT 1 FROM forgotten_txn WHERE id = $1', [id])) !== undefined;
}
