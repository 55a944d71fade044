/** Removes what is left of deleted destinations, piece by piece. */
import { IS_ASIDE, IS_OVER, type Store, type Tx } from '../store/store.ts';

const CHUNK = 500;
const EVERY = 2000;

export async function sweepDoomed(store: Store): Promise<number> {
  return store.transaction(async (tx) => {
    // Held by whoever sweeps it: another node, seeing nothing but rows that are being removed, would take it for empty.
    const text = `SELECT id FROM doomed_destination ORDER BY id LIMIT 1 ${tx.dialect.skipLocked}`;
    const doomed = await tx.get<{ id: number }>(text);
    if (doomed === undefined) return EVERY;
    if (!(await sweepPiece(tx, doomed.id))) await tx.run('DELETE FROM doomed_destination WHERE id = $1', [doomed.id]);
    return 0;
  });
}

/** True when something was removed. Each state has its own partial index, so each is asked for by itself. */
async function sweepPiece(tx: Tx, dest: number): Promise<boolean> {
  for (const { message, delivery } of tx.dialect.places) {
    for (const states of ['state = 0', IS_ASIDE, IS_OVER]) {
      const text = `DELETE FROM ${delivery} WHERE id IN
        (SELECT id FROM ${delivery} WHERE dest = $1 AND ${states} LIMIT ${CHUNK}) RETURNING id`;
      const rows = await tx.all<{ id: number }>(text, [dest]);
      if (rows.length === 0) continue;
      const ids = tx.dialect.list(rows.map(({ id }) => id));
      await tx.run(`DELETE FROM ${message} WHERE id ${tx.dialect.inList('$1')}`, [ids]);
      return true;
    }
    const text = `DELETE FROM ${message} WHERE id IN
      (SELECT id FROM ${message} WHERE dest = $1 AND pos IS NOT NULL ORDER BY pos LIMIT ${CHUNK})`;
    if ((await tx.run(text, [dest])) > 0) return true;
  }
  await tx.run('DELETE FROM subscriber_attempts WHERE subscriber IN (SELECT id FROM subscriber WHERE dest = $1)', [
    dest,
  ]);
  await tx.run('DELETE FROM subscriber WHERE dest = $1', [dest]);
  const names = `DELETE FROM message_name WHERE dest = $1 AND hash IN
    (SELECT hash FROM message_name WHERE dest = $1 LIMIT ${CHUNK})`;
  return (await tx.run(names, [dest])) > 0;
}
