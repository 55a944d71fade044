/** SQL of deliveries whose time has come, and of dead letters: the same text on both engines. */
import { CAN_EXPIRE, isVolatile, type Tx } from '../../store/store.ts';
import type { StoredField } from '../forwarded-fields.ts';
import { DEAD_LETTER_ORIGIN, DEAD_LETTER_REASON } from '../message.ts';

export interface DueDelivery {
  readonly id: number;
  readonly dest: number;
  readonly ord: number;
  /** 1 leased, 2 delayed. */
  readonly state: number;
  readonly due: number;
  readonly expires: number | null;
  readonly tries: number;
}

/** Those whose time has come, in the order in which it came, and then of their arrival: ids of a batch may not ascend. */
export async function lockDue(tx: Tx, now: number, limit: number): Promise<DueDelivery[]> {
  const due: DueDelivery[] = [];
  for (const { delivery } of tx.dialect.places) {
    const text = `SELECT id, dest, ord, state, due, expires, tries FROM ${delivery} WHERE state IN (1, 2) AND due <= $1
      ORDER BY due, ord LIMIT $2 ${tx.dialect.skipLocked}`;
    due.push(...(await tx.all<DueDelivery>(text, [now, limit])));
  }
  return due.sort((a, b) => a.due - b.due || a.ord - b.ord);
}

/**
 * Topics with messages whose delay is over, held until the transaction ends. Held before their messages are: positions are
 * given by one node at a time, or two would deal out the pieces of one batch in any order.
 */
export async function lockDueTopics(tx: Tx, now: number, limit: number): Promise<Set<number>> {
  const topics = new Set<number>();
  for (const { delivery } of tx.dialect.places) {
    const text = `SELECT dest FROM topic_position WHERE dest IN
      (SELECT dest FROM ${delivery} WHERE state IN (1, 2) AND due <= $1 ORDER BY due, ord LIMIT $2)
      ORDER BY dest ${tx.dialect.forUpdate}`;
    for (const { dest } of await tx.all<{ dest: number }>(text, [now, limit])) topics.add(dest);
  }
  return topics;
}

export async function makeReady(tx: Tx, deliveries: readonly DueDelivery[]): Promise<void> {
  for (const { delivery, ids } of byPlace(tx, deliveries)) {
    const text = `UPDATE ${delivery} SET state = 0, due = NULL WHERE id ${tx.dialect.inList('$1')}`;
    await tx.run(text, [tx.dialect.list(ids)]);
  }
}

function byPlace(
  tx: Tx,
  deliveries: readonly { id: number }[],
): { delivery: string; message: string; ids: number[] }[] {
  const groups = Map.groupBy(deliveries, ({ id }) => tx.dialect.placeOf(id));
  return [...groups].map(([place, members]) => ({ ...place, ids: members.map(({ id }) => id) }));
}

/**
 * A topic's message becomes visible: it gets the next position and needs no delivery any more. It counts as posted now,
 * since a topic keeps a message for a time after it was posted: one delayed for longer would be gone when it appears.
 * A topic that was deleted meanwhile leaves the delivery, by which the message is found and swept away.
 */
export async function giveTopicPosition(tx: Tx, topic: number, { id }: { id: number }, now: number): Promise<void> {
  const { delivery, message } = tx.dialect.placeOf(id);
  const text = 'UPDATE topic_position SET last = last + 1 WHERE dest = $1 RETURNING last';
  const row = await tx.get<{ last: number }>(text, [topic]);
  if (row === undefined) return;
  await tx.run(`UPDATE ${message} SET pos = $2, posted = $3 WHERE id = $1`, [id, row.last, now]);
  await tx.run(`DELETE FROM ${delivery} WHERE id = $1`, [id]);
}

/** What is leased may still be acknowledged; it expires when its lease is over. */
export async function expireDue(tx: Tx, now: number, keptUntil: number, limit: number): Promise<number> {
  let count = 0;
  for (const { delivery } of tx.dialect.places) {
    const text = `UPDATE ${delivery} SET state = 7, due = $2 WHERE id IN
      (SELECT id FROM ${delivery} WHERE expires <= $1 AND ${CAN_EXPIRE} AND state <> 1 ORDER BY expires, id
       LIMIT $3 ${tx.dialect.skipLocked})`;
    count += await tx.run(text, [now, keptUntil, limit]);
  }
  return count;
}

export async function nextDue(tx: Tx): Promise<number | undefined> {
  let next: number | undefined;
  for (const { delivery } of tx.dialect.places) {
    const text = `SELECT due FROM ${delivery} WHERE state IN (1, 2) AND due IS NOT NULL ORDER BY due, id LIMIT 1`;
    const row = await tx.get<{ due: number }>(text);
    if (row !== undefined && (next === undefined || row.due < next)) next = row.due;
  }
  return next;
}

export interface Burial {
  /** The copy's id: durable, whatever the message was. */
  readonly id: number;
  readonly destination: number;
  readonly origin: string;
  readonly reason: string;
  /** Until when the original is kept as dead. */
  readonly due: number;
}

export const isOfDeath = (name: string): boolean => name === DEAD_LETTER_ORIGIN || name === DEAD_LETTER_REASON;

/** The message itself stays, as dead; a copy that says where it came from and why waits in the dead-letter queue. */
export async function moveToDeadLetter(tx: Tx, { id }: { id: number }, burial: Burial): Promise<void> {
  const { delivery, message } = tx.dialect.placeOf(id);
  const row = await tx.get<{ headers: string }>(`SELECT headers FROM ${message} WHERE id = $1`, [id]);
  const fields: StoredField[] = [
    // Of one that died before it counts where it died now.
    ...(JSON.parse(row?.headers ?? '[]') as StoredField[]).filter(([name]) => !isOfDeath(name)),
    [DEAD_LETTER_ORIGIN, burial.origin],
    [DEAD_LETTER_REASON, burial.reason],
  ];
  await copyMessage(tx, id, { ...burial, headers: JSON.stringify(fields) });
  await tx.run(`UPDATE ${delivery} SET state = 6, due = $2 WHERE id = $1`, [id, burial.due]);
}

interface Copy {
  readonly id: number;
  readonly destination: number;
  readonly headers: string;
  /** Left out: never. */
  readonly expires?: number | null;
}

/** A message again, under another id in another queue, at the end of its order. */
export async function copyMessage(
  tx: Tx,
  from: number,
  { id, destination, headers, expires = null }: Copy,
): Promise<void> {
  const source = tx.dialect.placeOf(from);
  const target = tx.dialect.placeOf(id);
  const durable = tx.dialect.durableColumn;
  const column = durable === undefined ? '' : `, ${durable}`;
  const value = durable === undefined ? '' : `, ${!isVolatile(id)}`;
  await tx.run(
    `INSERT INTO ${target.message} (id, dest, posted, content_type, headers, body${column})
     SELECT $2, $3, posted, content_type, $4, body${value} FROM ${source.message} WHERE id = $1`,
    [from, id, destination, headers],
  );
  await tx.run(
    `INSERT INTO ${target.delivery} (id, dest, rank, ord, state, due, expires, tries, token, size${column})
     SELECT $2, $3, rank, ${tx.dialect.nextArrival}, 0, NULL, $4, 0, 0, size${value}
     FROM ${source.delivery} WHERE id = $1`,
    [from, id, destination, expires],
  );
}

/** A place in the order of a queue. */
export interface QueuePlace {
  readonly rank: number;
  readonly ord: number;
}

export interface DeadLetter extends QueuePlace {
  readonly id: number;
  readonly size: number;
  readonly headers: string;
}

/** Available messages of a dead-letter queue behind a place, oldest first, locked. */
export async function lockDeadLetters(tx: Tx, queue: number, after: QueuePlace, limit: number): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for (const { delivery, message } of tx.dialect.places) {
    const heads = await tx.all<Omit<DeadLetter, 'headers'>>(
      `SELECT id, rank, ord, size FROM ${delivery} WHERE dest = $1 AND state = 0 AND (rank, ord) > ($2, $3)
       ORDER BY rank, ord LIMIT $4 ${tx.dialect.skipLocked}`,
      [queue, after.rank, after.ord, limit],
    );
    const text = `SELECT id, headers FROM ${message} WHERE id ${tx.dialect.inList('$1')}`;
    const rows = await tx.all<{ id: number; headers: string }>(text, [tx.dialect.list(heads.map(({ id }) => id))]);
    const headers = new Map(rows.map((row) => [row.id, row.headers]));
    letters.push(...heads.map((head) => ({ ...head, headers: headers.get(head.id) ?? '[]' })));
  }
  return letters.sort((a, b) => a.rank - b.rank || a.ord - b.ord).slice(0, limit);
}
