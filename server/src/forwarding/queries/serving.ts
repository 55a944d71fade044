/** SQL of the node that serves subscribers: which ones it owns, and what it notes of them. */
import { isGone } from '../../nodes/queries.ts';
import type { SqlValue, Tx } from '../../store/store.ts';
import type { Attempt } from '../attempts.ts';
import type { Progress, Subscriber } from '../subscriber.ts';
import { COLUMNS, type SubscriberRow, toSubscriber } from './subscribers.ts';

/** Subscribers that need a node to serve them. */
export async function countServed(tx: Tx): Promise<number> {
  const text = 'SELECT count(*) AS count FROM subscriber WHERE state IN (0, 1)';
  return (await tx.get<{ count: number }>(text))?.count ?? 0;
}

/**
 * Takes subscribers that no node owns. Disabled ones only when there is something left to put in order. The raised
 * epoch fences off whoever served them before.
 */
export async function takeOver(tx: Tx, node: string, limit: number): Promise<Subscriber[]> {
  const rows = await tx.all<SubscriberRow>(
    `UPDATE subscriber SET owner = $1, epoch = epoch + 1, attention = 0 WHERE id IN
       (SELECT id FROM subscriber
        WHERE (owner IS NULL OR ${isGone('subscriber.owner')})
          AND (state IN (0, 1) OR state = 3 OR held <> '[]')
        ORDER BY id LIMIT $2 ${tx.dialect.skipLocked})
     RETURNING ${COLUMNS}`,
    [node, limit],
  );
  return rows.map(toSubscriber).sort((a, b) => a.id - b.id);
}

/** Those of this node that someone else changed, with their present state; the mark is taken off. */
export async function takeAttention(tx: Tx, node: string): Promise<Subscriber[]> {
  const rows = await tx.all<SubscriberRow>(
    `UPDATE subscriber SET attention = 0 WHERE owner = $1 AND attention = 1 RETURNING ${COLUMNS}`,
    [node],
  );
  return rows.map(toSubscriber);
}

export async function readOwned(tx: Tx, node: string, id: number): Promise<Subscriber | undefined> {
  const text = `SELECT ${COLUMNS} FROM subscriber WHERE id = $1 AND owner = $2`;
  const row = await tx.get<SubscriberRow>(text, [id, node]);
  return row && toSubscriber(row);
}

export async function deleteSubscriber(tx: Tx, id: number): Promise<void> {
  await tx.run('DELETE FROM subscriber WHERE id = $1', [id]);
  await tx.run('DELETE FROM subscriber_attempts WHERE subscriber = $1', [id]);
}

/** What a pipeline has to say about its subscriber: where it stands now, and what to add to the counters. */
export interface Note extends Omit<Progress, 'held'> {
  readonly id: number;
  readonly epoch: number;
  /** Undefined: as before. */
  readonly held?: readonly number[];
  /** The node lets go of it. */
  readonly disowned?: boolean;
}

const NOTE_COLUMNS = [
  ...['id', 'epoch', 'state', 'position', 'link_for', 'tries', 'next_try', 'failing_since', 'failing_at'],
  ...['forwarded', 'failed', 'dead', 'disowned', 'reason', 'link', 'held'],
];
const TEXT_COLUMNS = new Set(['reason', 'link', 'held']);
/** No subscriber has this number. */
const NO_ID = -1;
const NOBODY: readonly SqlValue[] = [NO_ID, 0, 0, 0, null, 0, null, null, null, 0, 0, 0, 0, null, null, null];

function noteValues(note: Note): SqlValue[] {
  const { id, epoch, state, position, linkFor, tries, nextTry, failingSince, failingAt } = note;
  const { forwarded, failed, dead, disowned, reason, link, held } = note;
  return [
    ...[id, epoch, state, position, linkFor, tries, nextTry, failingSince, failingAt, forwarded, failed, dead],
    ...[disowned ? 1 : 0, reason, link, held === undefined ? null : JSON.stringify(held)],
  ];
}

/** The values of one row, with their types told: PostgreSQL cannot guess them. */
function noteRow(index: number): string {
  const values = NOTE_COLUMNS.map((name, offset) => {
    const parameter = `$${index * NOTE_COLUMNS.length + offset + 2}`;
    return `CAST(${parameter} AS ${TEXT_COLUMNS.has(name) ? 'TEXT' : 'BIGINT'})`;
  });
  return `(${values.join(', ')})`;
}

const noteText = (rows: number): string => `
  WITH note (${NOTE_COLUMNS.join(', ')}) AS (VALUES ${Array.from({ length: rows }, (_, index) => noteRow(index)).join(', ')})
  UPDATE subscriber SET
    state = CASE WHEN subscriber.state IN (0, 1) THEN note.state ELSE subscriber.state END,
    reason = note.reason, position = note.position, link = note.link, link_for = note.link_for,
    held = COALESCE(note.held, subscriber.held), owner = CASE WHEN note.disowned = 1 THEN NULL ELSE subscriber.owner END,
    tries = note.tries, next_try = note.next_try, failing_since = note.failing_since, failing_at = note.failing_at,
    forwarded = subscriber.forwarded + note.forwarded, failed = subscriber.failed + note.failed,
    dead = subscriber.dead + note.dead
  FROM note WHERE subscriber.id = note.id AND subscriber.owner = $1 AND subscriber.epoch = note.epoch
  RETURNING subscriber.id`;

const noteTexts = new Map<number, string>();

/** The statement for at least that many rows; powers of two, so that few texts have to be prepared. */
function preparedFor(
  wanted: number,
  texts: Map<number, string>,
  textOf: (rows: number) => string,
): { text: string; rows: number } {
  let rows = 1;
  while (rows < wanted) rows *= 2;
  const text = texts.get(rows) ?? textOf(rows);
  texts.set(rows, text);
  return { text, rows };
}

/** Writes many notes in one statement; gives the ids of those that were still this node's to write. */
export async function writeNotes(tx: Tx, node: string, notes: readonly Note[]): Promise<Set<number>> {
  const { text, rows } = preparedFor(notes.length, noteTexts, noteText);
  const values: SqlValue[] = [node];
  for (let i = 0; i < rows; i++) {
    const note = notes[i];
    values.push(...(note === undefined ? NOBODY : noteValues(note)));
  }
  const found = await tx.all<{ id: number }>(text, values);
  return new Set(found.map(({ id }) => id));
}

/** Gives a subscriber as it is, with what it holds, to whoever takes it next. */
export async function handOver(tx: Tx, node: string, id: number): Promise<void> {
  await tx.run('UPDATE subscriber SET owner = NULL WHERE id = $1 AND owner = $2', [id, node]);
}

/** The same for all of a node that serves no more. */
export async function handOverAll(tx: Tx, node: string): Promise<void> {
  await tx.run('UPDATE subscriber SET owner = NULL WHERE owner = $1', [node]);
}

export async function readAttemptsOf(tx: Tx, ids: readonly number[]): Promise<Map<number, Attempt[]>> {
  const rows = await tx.all<{ subscriber: number; attempts: string }>(
    `SELECT subscriber, attempts FROM subscriber_attempts WHERE subscriber ${tx.dialect.inList('$1')}`,
    [tx.dialect.list(ids)],
  );
  return new Map(rows.map(({ subscriber, attempts }) => [subscriber, JSON.parse(attempts) as Attempt[]]));
}

const logText = (rows: number): string => {
  const places = Array.from({ length: rows }, (_, i) => `(CAST($${2 * i + 1} AS BIGINT), CAST($${2 * i + 2} AS TEXT))`);
  return `
    WITH log (id, attempts) AS (VALUES ${places.join(', ')})
    INSERT INTO subscriber_attempts (subscriber, attempts)
    SELECT subscriber.id, log.attempts FROM log JOIN subscriber ON subscriber.id = log.id WHERE true
    ON CONFLICT (subscriber) DO UPDATE SET attempts = excluded.attempts`;
};

const logTexts = new Map<number, string>();

/** Writes the attempts of many subscribers, each named once, in one statement. */
export async function writeAttempts(tx: Tx, logs: readonly (readonly [id: number, json: string])[]): Promise<void> {
  const { text, rows } = preparedFor(logs.length, logTexts, logText);
  const values = logs.flat() as SqlValue[];
  for (let i = logs.length; i < rows; i++) values.push(NO_ID, null);
  await tx.run(text, values);
}
