/** SQL of the messages of a queue that a subscriber holds: the same text on both engines. */
import { type MessageRow, toMessage } from '../../messaging/queries/messages.ts';
import type { StoredMessage, Tx } from '../../store/store.ts';

interface Head {
  readonly id: number;
  readonly rank: number;
  readonly ord: number;
  readonly size: number;
}

export interface Wanted {
  readonly max: number;
  /** The first message is taken whatever its size. */
  readonly maxBytes: number;
  readonly now: number;
}

/**
 * Leases the next messages without an end: the subscriber's row says who holds them, and whoever serves it lets go of
 * them. The count of deliveries stays, because tries to forward do not count towards max-deliveries.
 */
export async function holdNext(tx: Tx, queue: number, token: number, wanted: Wanted): Promise<number[]> {
  const heads: Head[] = [];
  for (const { delivery } of tx.dialect.places) {
    const text = `SELECT id, rank, ord, size FROM ${delivery}
      WHERE dest = $1 AND state = 0 AND (expires IS NULL OR expires > $2)
      ORDER BY dest, rank, ord LIMIT $3 ${tx.dialect.skipLocked}`;
    heads.push(...(await tx.all<Head>(text, [queue, wanted.now, wanted.max])));
  }
  heads.sort((a, b) => a.rank - b.rank || a.ord - b.ord);
  let bytes = 0;
  const ids: number[] = [];
  for (const { id, size } of heads.slice(0, wanted.max)) {
    bytes += size;
    if (ids.length > 0 && bytes > wanted.maxBytes) break;
    ids.push(id);
  }
  for (const [place, members] of Map.groupBy(ids, tx.dialect.placeOf)) {
    const text = `UPDATE ${place.delivery} SET state = 1, due = NULL, token = $2 WHERE id ${tx.dialect.inList('$1')}`;
    await tx.run(text, [tx.dialect.list(members), token]);
  }
  return ids;
}

/** The target has them: they are consumed. */
export async function consumeHeld(tx: Tx, ids: readonly number[], token: number, keptUntil: number): Promise<void> {
  for (const [place, members] of Map.groupBy(ids, tx.dialect.placeOf)) {
    const text = `UPDATE ${place.delivery} SET state = 5, due = $3
      WHERE id ${tx.dialect.inList('$1')} AND token = $2 AND state = 1`;
    await tx.run(text, [tx.dialect.list(members), token, keptUntil]);
  }
}

/** Back to their places. Tells how many. */
export async function putBackHeld(tx: Tx, ids: readonly number[], token: number): Promise<number> {
  let count = 0;
  for (const [place, members] of Map.groupBy(ids, tx.dialect.placeOf)) {
    const text = `UPDATE ${place.delivery} SET state = 0, due = NULL
      WHERE id ${tx.dialect.inList('$1')} AND token = $2 AND state = 1`;
    count += await tx.run(text, [tx.dialect.list(members), token]);
  }
  return count;
}

/** Their life is over while they were tried in vain. */
export async function expireHeld(
  tx: Tx,
  ids: readonly number[],
  token: number,
  now: number,
  keptUntil: number,
): Promise<void> {
  for (const [place, members] of Map.groupBy(ids, tx.dialect.placeOf)) {
    const text = `UPDATE ${place.delivery} SET state = 7, due = $4
      WHERE id ${tx.dialect.inList('$1')} AND token = $2 AND state = 1 AND expires <= $3`;
    await tx.run(text, [tx.dialect.list(members), token, now, keptUntil]);
  }
}

interface HeldRow extends MessageRow {
  readonly expires: number | null;
}

/** Those that the subscriber still holds, in the order given: others may have been purged, deleted or lost meanwhile. */
export async function readHeld(
  tx: Tx,
  ids: readonly number[],
  token: number,
): Promise<{ message: StoredMessage; expires: number | null }[]> {
  const found = new Map<number, { message: StoredMessage; expires: number | null }>();
  for (const [place, members] of Map.groupBy(ids, tx.dialect.placeOf)) {
    const rows = await tx.all<HeldRow>(
      `SELECT m.id, m.dest, m.pos, m.posted, m.content_type, m.headers, m.name, m.body, d.expires
       FROM ${place.message} m JOIN ${place.delivery} d ON d.id = m.id
       WHERE m.id ${tx.dialect.inList('$1')} AND d.token = $2 AND d.state = 1`,
      [tx.dialect.list(members), token],
    );
    for (const row of rows) found.set(row.id, { message: toMessage(row), expires: row.expires });
  }
  return ids.flatMap((id) => found.get(id) ?? []);
}

/** How many messages could be taken now, counted up to the limit. */
export async function countReady(tx: Tx, queue: number, now: number, limit: number): Promise<number> {
  let count = 0;
  for (const { delivery } of tx.dialect.places) {
    const row = await tx.get<{ count: number }>(
      `SELECT count(*) AS count FROM (SELECT 1 FROM ${delivery}
         WHERE dest = $1 AND state = 0 AND (expires IS NULL OR expires > $2) LIMIT $3) AS ready`,
      [queue, now, limit],
    );
    count += row?.count ?? 0;
  }
  return count;
}
