/** SQL of messages and deliveries outside the hot paths: one function per statement, the same text on both engines. */
import { HELD, IS_ASIDE, type StoredMessage, type Tx } from '../../store/store.ts';

export interface MessageRow {
  readonly id: number;
  readonly dest: number;
  readonly pos: number | null;
  readonly posted: number;
  readonly content_type: string | null;
  readonly headers: string;
  readonly name: string | null;
  readonly body: Buffer;
}

export function toMessage({ id, dest, pos, posted, content_type, headers, name, body }: MessageRow): StoredMessage {
  return { id, destination: dest, position: pos, posted, contentType: content_type, headers, name, body };
}

export interface Delivery {
  readonly state: number;
  readonly due: number | null;
  readonly expires: number | null;
  readonly tries: number;
  readonly token: number;
  /** Posted in a transaction that has not ended: not to be seen. One that was taken in a transaction is. */
  readonly isUnborn: boolean;
}

/** A message with its delivery; topic messages have none. */
export interface FoundMessage {
  readonly message: StoredMessage;
  readonly delivery: Delivery | undefined;
  /** When the life of a topic's message ends. */
  readonly expires: number | null;
}

interface FoundRow extends MessageRow {
  readonly life: number | null;
  readonly state: number | null;
  readonly due: number | null;
  readonly expires: number | null;
  readonly tries: number | null;
  readonly token: number | null;
  readonly ord: number | null;
}

const FOUND = `m.id, m.dest, m.pos, m.posted, m.content_type, m.headers, m.name, m.body, m.expires AS life,
  d.state, d.due, d.expires, d.tries, d.token, d.ord`;

function toFound(row: FoundRow): FoundMessage {
  const { state, due, expires, tries, token, ord } = row;
  const isUnborn = state === HELD && (ord ?? 0) <= 0;
  return {
    message: toMessage(row),
    expires: row.life,
    delivery: state === null ? undefined : { state, due, expires, tries: tries ?? 0, token: token ?? 0, isUnborn },
  };
}

export async function findMessage(tx: Tx, destination: number, id: number): Promise<FoundMessage | undefined> {
  const { message, delivery } = tx.dialect.placeOf(id);
  const row = await tx.get<FoundRow>(
    `SELECT ${FOUND} FROM ${message} m LEFT JOIN ${delivery} d ON d.id = m.id WHERE m.id = $1 AND m.dest = $2`,
    [id, destination],
  );
  return row && toFound(row);
}

/** The same of a queue's message, kept from being taken or settled until the transaction ends. */
export async function lockMessage(tx: Tx, queue: number, id: number): Promise<FoundMessage | undefined> {
  const { delivery } = tx.dialect.placeOf(id);
  await tx.get(`SELECT id FROM ${delivery} WHERE id = $1 ${tx.dialect.forUpdate}`, [id]);
  return findMessage(tx, queue, id);
}

/** Whether there is a message of this number, wherever it lies. */
export async function isMessage(tx: Tx, id: number): Promise<boolean> {
  return (await tx.get(`SELECT 1 FROM ${tx.dialect.placeOf(id).message} WHERE id = $1`, [id])) !== undefined;
}

interface Head {
  readonly id: number;
  readonly rank: number;
  readonly ord: number;
  readonly size: number;
}

/** The messages a receiver would get now, without taking them; the first whatever its size, the rest within the bytes. */
export async function peekQueue(
  tx: Tx,
  destination: number,
  { max, maxBytes, now }: { max: number; maxBytes: number; now: number },
): Promise<FoundMessage[]> {
  const heads: Head[] = [];
  for (const { delivery } of tx.dialect.places) {
    const text = `SELECT id, rank, ord, size FROM ${delivery}
      WHERE dest = $1 AND state = 0 AND (expires IS NULL OR expires > $2) ORDER BY rank, ord LIMIT $3`;
    heads.push(...(await tx.all<Head>(text, [destination, now, max])));
  }
  heads.sort((a, b) => a.rank - b.rank || a.ord - b.ord);
  let bytes = 0;
  const ids = heads
    .slice(0, max)
    .filter((head, index) => {
      bytes += head.size;
      return index === 0 || bytes <= maxBytes;
    })
    .map((head) => head.id);
  const found = new Map<number, FoundMessage>();
  for (const { message, delivery } of tx.dialect.places) {
    const text = `SELECT ${FOUND} FROM ${message} m JOIN ${delivery} d ON d.id = m.id WHERE m.id ${tx.dialect.inList('$1')}`;
    for (const row of await tx.all<FoundRow>(text, [tx.dialect.list(ids)])) found.set(row.id, toFound(row));
  }
  return ids.flatMap((id) => found.get(id) ?? []);
}

/** The message a client-chosen id stands for, also after the message is gone, as long as the id is remembered. */
export async function findName(tx: Tx, destination: number, hash: Buffer): Promise<{ message: number } | undefined> {
  return tx.get<{ message: number }>('SELECT message FROM message_name WHERE dest = $1 AND hash = $2', [
    destination,
    hash,
  ]);
}

/** All ids below this one have been handed out or never will be. */
export async function idWatermark(tx: Tx): Promise<number> {
  return (await tx.get<{ number: number }>(`SELECT number FROM meta WHERE name = 'next-id'`))?.number ?? 0;
}

/** Removes what is not held by a transaction; gives what was removed. */
export async function removeMessages(tx: Tx, ids: readonly number[]): Promise<{ name: string | null }[]> {
  const removed: { name: string | null }[] = [];
  for (const { message, delivery } of new Set(ids.map(tx.dialect.placeOf))) {
    const rows = await tx.all<{ id: number }>(
      `DELETE FROM ${delivery} WHERE id ${tx.dialect.inList('$1')} AND state <> 4 RETURNING id`,
      [tx.dialect.list(ids)],
    );
    if (rows.length === 0) continue;
    const gone = tx.dialect.list(rows.map(({ id }) => id));
    const text = `DELETE FROM ${message} WHERE id ${tx.dialect.inList('$1')} RETURNING name`;
    removed.push(...(await tx.all<{ name: string | null }>(text, [gone])));
  }
  return removed;
}

/** Exactly how many wait in a queue, leased ones included. Costs a walk over the index. */
export async function countWaiting(tx: Tx, queue: number): Promise<number> {
  let count = 0;
  for (const { delivery } of tx.dialect.places) {
    const row = await tx.get<{ count: number }>(
      `SELECT (SELECT count(*) FROM ${delivery} WHERE dest = $1 AND state = 0) +
              (SELECT count(*) FROM ${delivery} WHERE dest = $1 AND ${IS_ASIDE} AND state <> 4) AS count`,
      [queue],
    );
    count += row?.count ?? 0;
  }
  return count;
}

/** Removes some of what waits in a queue. Undefined: nothing waits any more. */
export async function purgeChunk(tx: Tx, queue: number, limit: number): Promise<{ name: string | null }[] | undefined> {
  const waiting: number[] = [];
  for (const { delivery } of tx.dialect.places) {
    for (const states of ['state = 0', `${IS_ASIDE} AND state <> 4`]) {
      const text = `SELECT id FROM ${delivery} WHERE dest = $1 AND ${states} LIMIT $2`;
      waiting.push(...(await tx.all<{ id: number }>(text, [queue, limit])).map(({ id }) => id));
    }
  }
  if (waiting.length === 0) return undefined;
  // Locked in one order, that of verdicts, so that two that meet never wait for each other; and looked at once more,
  // so that what was settled meanwhile stays.
  const ids = waiting.sort((a, b) => a - b).slice(0, limit);
  const locked: number[] = [];
  for (const { delivery } of tx.dialect.places) {
    const text = `SELECT id FROM ${delivery} WHERE id ${tx.dialect.inList('$1')} AND state < 5 AND state <> 4
      ORDER BY id ${tx.dialect.forUpdate}`;
    locked.push(...(await tx.all<{ id: number }>(text, [tx.dialect.list(ids)])).map(({ id }) => id));
  }
  return removeMessages(tx, locked);
}

/** From now on the id is remembered only until `forget`. */
export async function expireName(tx: Tx, destination: number, hash: Buffer, forget: number): Promise<void> {
  await tx.run('UPDATE message_name SET forget = $3 WHERE dest = $1 AND hash = $2', [destination, hash, forget]);
}

/** Undoes a receive whose client was found gone before the answer could be written. */
export async function putBack(tx: Tx, id: number, token: number, isHeld: boolean): Promise<boolean> {
  const { delivery } = tx.dialect.placeOf(id);
  const changed = await tx.run(
    `UPDATE ${delivery} SET state = 0, due = NULL, tx = NULL, tries = tries - 1
     WHERE id = $1 AND token = $2 AND state ${isHeld ? '= 4' : 'IN (1, 5)'}`,
    [id, token],
  );
  return changed > 0;
}

/** How many messages each of these destinations has to give; counting stops at the limit. Those gone are left out. */
export async function withReadyMessages(
  tx: Tx,
  destinations: readonly number[],
  limit: number,
): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  for (const { delivery } of tx.dialect.places) {
    const rows = await tx.all<{ id: number; ready: number }>(
      `SELECT id, (SELECT count(*) FROM (SELECT 1 FROM ${delivery} AS waiting
                   WHERE waiting.dest = destination.id AND waiting.state = 0 LIMIT ${limit}) AS counted) AS ready
       FROM destination WHERE id ${tx.dialect.inList('$1')}`,
      [tx.dialect.list(destinations)],
    );
    for (const { id, ready } of rows) found.set(id, ready + (found.get(id) ?? 0));
  }
  return found;
}

export async function messagesById(tx: Tx, ids: readonly number[]): Promise<Map<number, StoredMessage>> {
  const found = new Map<number, StoredMessage>();
  for (const { message } of tx.dialect.places) {
    const text = `SELECT id, dest, pos, posted, content_type, headers, name, body FROM ${message}
      WHERE id ${tx.dialect.inList('$1')}`;
    for (const row of await tx.all<MessageRow>(text, [tx.dialect.list(ids)])) found.set(row.id, toMessage(row));
  }
  return found;
}
