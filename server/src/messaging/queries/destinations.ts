/** SQL of destinations: one function per statement, the same text on both engines. */
import type { Page } from '../../http/paging.ts';
import { CAN_EXPIRE, IS_ASIDE, IS_OVER, type Tx } from '../../store/store.ts';
import { COUNT_LIMIT, type Counts, type Destination, type DestinationRecord, makeDestination } from '../destination.ts';
import type { DestinationKind, Settings } from '../settings.ts';

interface DestinationRow {
  readonly id: number;
  readonly kind: DestinationKind;
  readonly name: string;
  readonly settings: string;
  readonly for_dead: number;
  readonly version: number;
  readonly created: number;
}

function toDestination({ id, kind, name, settings: text, for_dead, version, created }: DestinationRow): Destination {
  return makeDestination({ id, kind, name, settings: JSON.parse(text) as Settings, version, created }, for_dead === 1);
}

/**
 * Whether dead messages came to the queue or another one names it for them. The latter is looked up and not noted, so that it is
 * true of a queue that is made after it was named, and no longer true when nobody names it. With a LIMIT and not by EXISTS, for
 * which PostgreSQL may read all names there are.
 */
const forDead = ({ dialect }: Tx): string =>
  `CASE WHEN dead_letter = 1 OR (kind = 'queue' AND (SELECT 1 FROM destination AS source
     WHERE source.dead_letter_to = destination.name ${dialect.plainOrder} LIMIT 1) = 1) THEN 1 ELSE 0 END AS for_dead`;

const destinations = (tx: Tx): string =>
  `SELECT id, kind, name, settings, ${forDead(tx)}, version, created FROM destination`;

export async function findDestination(tx: Tx, kind: DestinationKind, name: string): Promise<Destination | undefined> {
  const row = await tx.get<DestinationRow>(`${destinations(tx)} WHERE kind = $1 AND name = $2`, [kind, name]);
  return row && toDestination(row);
}

export async function findDestinationById(tx: Tx, id: number): Promise<Destination | undefined> {
  const row = await tx.get<DestinationRow>(`${destinations(tx)} WHERE id = $1`, [id]);
  return row && toDestination(row);
}

/** Finds it and keeps others from changing or deleting it until the transaction ends. */
export async function lockDestination(tx: Tx, kind: DestinationKind, name: string): Promise<Destination | undefined> {
  const text = `${destinations(tx)} WHERE kind = $1 AND name = $2 ${tx.dialect.forUpdate}`;
  const row = await tx.get<DestinationRow>(text, [kind, name]);
  return row && toDestination(row);
}

export async function listDestinations(tx: Tx, kind: DestinationKind, page: Page): Promise<Destination[]> {
  const [comparison, order] = page.backwards ? ['<', 'DESC'] : ['>', 'ASC'];
  const rows = await tx.all<DestinationRow>(
    `${destinations(tx)} WHERE kind = $1 AND name ${comparison} $2 ORDER BY name ${order} LIMIT $3`,
    [kind, page.key ?? '', page.limit + 1],
  );
  return rows.map(toDestination);
}

/** False when another destination has the name. */
export async function insertDestination(tx: Tx, destination: DestinationRecord): Promise<boolean> {
  const { id, kind, name, settings, version, created } = destination;
  const row = await tx.get(
    `INSERT INTO destination (id, kind, name, settings, dead_letter_to, version, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (kind, name) DO NOTHING RETURNING id`,
    [id, kind, name, JSON.stringify(settings), settings['dead-letter'] ?? null, version, created],
  );
  return row !== undefined;
}

/** Positions start above those of every deleted topic, so that an old link never skips messages of a new one. */
export async function insertTopicPosition(tx: Tx, id: number): Promise<void> {
  await tx.run(`INSERT INTO topic_position (dest, last) SELECT $1, number FROM meta WHERE name = 'topic-floor'`, [id]);
}

export async function updateSettings(tx: Tx, id: number, settings: Settings): Promise<void> {
  const text = 'UPDATE destination SET settings = $2, dead_letter_to = $3, version = version + 1 WHERE id = $1';
  await tx.run(text, [id, JSON.stringify(settings), settings['dead-letter'] ?? null]);
}

/** The name is free at once; what lies in it is swept away by a duty. */
export async function deleteDestination(tx: Tx, id: number): Promise<void> {
  await tx.run('DELETE FROM destination WHERE id = $1', [id]);
  const topic = await tx.get<{ last: number }>('DELETE FROM topic_position WHERE dest = $1 RETURNING last', [id]);
  if (topic !== undefined) {
    await tx.run(`UPDATE meta SET number = $1 WHERE name = 'topic-floor' AND number < $1`, [topic.last]);
  }
  await tx.run('INSERT INTO doomed_destination (id) VALUES ($1)', [id]);
}

/**
 * Whether anything would be lost with the destination: a waiting message of a queue, a retained or delayed one of a
 * topic. What has outlived its ttl and is not leased is lost already. A topic's counter row is locked first: posts hold
 * that one, and what they have stored is then seen.
 */
export async function holdsMessages(tx: Tx, { id, kind }: Destination, now: number): Promise<boolean> {
  if (kind === 'topic') await tx.get(`SELECT last FROM topic_position WHERE dest = $1 ${tx.dialect.forUpdate}`, [id]);
  for (const { delivery, message } of tx.dialect.places) {
    const lives = '(expires IS NULL OR expires > $2)';
    const aside = `EXISTS (SELECT 1 FROM ${delivery} WHERE dest = $1 AND ${IS_ASIDE} AND (state <> 2 OR ${lives}))`;
    const inPlace =
      kind === 'queue'
        ? `EXISTS (SELECT 1 FROM ${delivery} WHERE dest = $1 AND state = 0 AND ${lives})`
        : `EXISTS (SELECT 1 FROM ${message} WHERE dest = $1 AND pos IS NOT NULL)`;
    if ((await tx.get(`SELECT 1 AS found WHERE ${inPlace} OR ${aside}`, [id, now])) !== undefined) return true;
  }
  return false;
}

/**
 * Counts by the indexes alone. Those do not know when a message's life is over, and what has outlived its ttl stays where it
 * is until the duty comes by, within a second; so these are counted by the index on their times and taken off. Should more
 * than the limit of them wait for the duty, in all queues together, the rest of them still counts. What a transaction has
 * taken is leased to it; what it has posted has no place in the order yet, and is nobody's business.
 */
export async function countQueue(tx: Tx, id: number, now: number): Promise<Counts> {
  const counts = { available: 0, delayed: 0, leased: 0, dead: 0 };
  const most = COUNT_LIMIT + 1;
  const part = (delivery: string, where: string, limit: string | number = most) =>
    `(SELECT count(*) FROM (SELECT 1 FROM ${delivery} WHERE dest = $1 AND ${where} LIMIT ${limit}) AS counted)`;
  const alive = (delivery: string, where: string, state: 'ready' | 'delayed') => {
    const outlived = `(SELECT ${state} FROM outlived)`;
    return `${part(delivery, where, `${most} + ${outlived}`)} - ${outlived}`;
  };
  for (const { delivery } of tx.dialect.places) {
    const row = await tx.get<typeof counts>(
      `WITH outlived AS MATERIALIZED
         (SELECT count(CASE WHEN state = 0 THEN 1 END) AS ready, count(CASE WHEN state = 2 THEN 1 END) AS delayed
          FROM (SELECT dest, state FROM ${delivery} WHERE expires <= $2 AND ${CAN_EXPIRE} AND state <> 1
                ORDER BY expires, id LIMIT ${most}) AS waiting
          WHERE dest = $1)
       SELECT ${alive(delivery, 'state = 0', 'ready')} AS available,
              ${alive(delivery, `${IS_ASIDE} AND state = 2`, 'delayed')} AS delayed,
              ${part(delivery, `${IS_ASIDE} AND state = 1`)}
                + ${part(delivery, `${IS_ASIDE} AND state = 4 AND ord > 0`)} AS leased,
              ${part(delivery, `${IS_OVER} AND state = 6`)} AS dead`,
      [id, now],
    );
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) counts[name] += row?.[name] ?? 0;
  }
  return counts;
}

export async function countTopic(tx: Tx, id: number): Promise<number> {
  let retained = 0;
  for (const { message } of tx.dialect.places) {
    const row = await tx.get<{ count: number }>(
      `SELECT count(*) AS count FROM
         (SELECT 1 FROM ${message} WHERE dest = $1 AND pos IS NOT NULL LIMIT ${COUNT_LIMIT + 1}) AS counted`,
      [id],
    );
    retained += row?.count ?? 0;
  }
  return retained;
}

/** The destinations with these ids that still exist. */
export async function destinationsById(tx: Tx, ids: readonly number[]): Promise<Map<number, Destination>> {
  const rows = await tx.all<DestinationRow>(`${destinations(tx)} WHERE id ${tx.dialect.inList('$1')}`, [
    tx.dialect.list(ids),
  ]);
  return new Map(rows.map((row) => [row.id, toDestination(row)]));
}

export interface Presence {
  readonly version: number;
  readonly isForDead: boolean;
}

/** How those stand that still exist. */
export async function presencesOf(tx: Tx, ids: readonly number[]): Promise<Map<number, Presence>> {
  const text = `SELECT id, version, ${forDead(tx)} FROM destination WHERE id ${tx.dialect.inList('$1')}`;
  const rows = await tx.all<{ id: number; version: number; for_dead: number }>(text, [tx.dialect.list(ids)]);
  return new Map(rows.map(({ id, version, for_dead }) => [id, { version, isForDead: for_dead === 1 }]));
}

/**
 * The queue of this name, made if there is none, and kept from being deleted until the transaction ends: a message that
 * goes into a queue while it is deleted would be swept away with it.
 */
export async function holdQueue(tx: Tx, fresh: DestinationRecord): Promise<Destination> {
  for (;;) {
    await insertDestination(tx, fresh);
    const held = await lockDestination(tx, 'queue', fresh.name);
    // Deleted between the two statements: there is none again.
    if (held !== undefined) return held;
  }
}

/**
 * Until the transaction ends nobody else names a dead-letter queue. To be called before any destination is locked: who
 * holds one never waits for this.
 */
export async function lockDeadLetterNames(tx: Tx): Promise<void> {
  await tx.get(`SELECT number FROM meta WHERE name = 'dead-letters' ${tx.dialect.forUpdate}`);
}

/** The queues of these names that exist. */
export async function queueIds(tx: Tx, names: readonly string[]): Promise<number[]> {
  const text = `SELECT id FROM destination WHERE kind = 'queue' AND name ${tx.dialect.inList('$1')}`;
  return (await tx.all<{ id: number }>(text, [tx.dialect.list(names)])).map(({ id }) => id);
}

/** A queue that names this one for its dead letters, if there is any. */
export async function deadLetterSource(tx: Tx, name: string): Promise<string | undefined> {
  const text = `SELECT name FROM destination WHERE dead_letter_to = $1 AND kind = 'queue' LIMIT 1`;
  return (await tx.get<{ name: string }>(text, [name]))?.name;
}

/** True when it was not known as one before. */
export async function markDeadLetter(tx: Tx, id: number): Promise<boolean> {
  const text = 'UPDATE destination SET dead_letter = 1, version = version + 1 WHERE id = $1 AND dead_letter = 0';
  return (await tx.run(text, [id])) > 0;
}
