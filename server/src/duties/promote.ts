/**
 * Moves deliveries whose time has come: delayed messages and those whose lease is over go back to their place in the
 * queue, those whose life is over expire. Every node runs it; rows that another node is moving are passed over.
 */
import { CAN_EXPIRE, type Store, type Tx } from '../store/store.ts';

const CHUNK = 500;
/** A look at least this often finds what other nodes made due. */
const LOOK_EVERY = 1000;

export async function promoteDue(store: Store): Promise<number> {
  const now = store.now();
  const { arrived, full, next } = await store.transaction(async (tx) => {
    const ready = await makeReady(tx, now);
    const expired = await expire(tx, now);
    const arrived = new Map<number, number>();
    for (const { dest } of ready) arrived.set(dest, (arrived.get(dest) ?? 0) + 1);
    return { arrived, full: ready.length >= CHUNK || expired >= CHUNK, next: await nextDue(tx) };
  });
  if (arrived.size > 0) store.announce({ arrived });
  if (full) return 0;
  return next === undefined ? LOOK_EVERY : Math.min(LOOK_EVERY, Math.max(1, next - store.now()));
}

async function makeReady(tx: Tx, now: number): Promise<{ dest: number }[]> {
  const rows: { dest: number }[] = [];
  for (const { delivery } of tx.dialect.places) {
    const text = `UPDATE ${delivery} SET state = 0, due = NULL WHERE id IN
        (SELECT id FROM ${delivery} WHERE state IN (1, 2) AND due <= $1 ORDER BY due, id
         LIMIT ${CHUNK} ${tx.dialect.skipLocked})
      RETURNING dest`;
    rows.push(...(await tx.all<{ dest: number }>(text, [now])));
  }
  return rows;
}

/** What is leased may still be acknowledged; it expires when its lease is over. Kept for an hour, to be looked at. */
async function expire(tx: Tx, now: number): Promise<number> {
  let count = 0;
  for (const { delivery } of tx.dialect.places) {
    const text = `UPDATE ${delivery} SET state = 7, due = $2 WHERE id IN
        (SELECT id FROM ${delivery} WHERE expires <= $1 AND ${CAN_EXPIRE} AND state <> 1 ORDER BY expires, id
         LIMIT ${CHUNK} ${tx.dialect.skipLocked})`;
    count += await tx.run(text, [now, now + 3_600_000]);
  }
  return count;
}

async function nextDue(tx: Tx): Promise<number | undefined> {
  let next: number | undefined;
  for (const { delivery } of tx.dialect.places) {
    const text = `SELECT due FROM ${delivery} WHERE state IN (1, 2) AND due IS NOT NULL ORDER BY due, id LIMIT 1`;
    const row = await tx.get<{ due: number }>(text);
    if (row !== undefined && (next === undefined || row.due < next)) next = row.due;
  }
  return next;
}
