/** Forgets finished messages in small pieces. PostgreSQL does the same, see ../../postgres/forgetting.ts. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { type ForgetStep, type Forgotten, hashOfId, IS_OVER } from '../../store.ts';

const CHUNK = 500;
/** Destinations looked at in one step. */
const DESTINATIONS = 50;
/** Milliseconds for which it is believed how many are too many. The process may stand still meanwhile. */
const TRUST = 10_000;

/** The statements of one of the two places where messages lie. */
interface Place {
  readonly nextDestination: StatementSync;
  readonly beyondKept: StatementSync;
  readonly finished: StatementSync;
  readonly names: StatementSync;
  /** These forget. */
  readonly deliveriesListed: StatementSync;
  readonly messagesListed: StatementSync;
  readonly messagesBetween: StatementSync;
  readonly deliveriesBetween: StatementSync;
  /** What lies between two ids: so many ids at most, and names. */
  readonly lying: StatementSync;
  /** Up to which due time each destination's finished messages are too many. Finding that out is a walk over all that may be kept. */
  readonly limits: Map<number, { readonly due: number; readonly at: number }>;
}

export function createForgetting(
  db: DatabaseSync,
  monotonic = () => performance.now(),
): (step: ForgetStep) => Forgotten {
  const places = [placeIn(db, 'main'), placeIn(db, 'volatile')];
  const expireName = db.prepare('UPDATE message_name SET forget = ? WHERE dest = ? AND hash = ?');

  function limitOf({ beyondKept, limits }: Place, dest: number, kept: number): number {
    const at = monotonic();
    const known = limits.get(dest);
    if (known !== undefined && at - known.at <= TRUST) return known.due;
    const due = numberFrom(beyondKept, dest, kept) ?? 0;
    limits.set(dest, { due, at });
    return due;
  }

  /** True when a full piece was removed: there may be more. */
  function forgetOf(place: Place, dest: number, { now, kept, rememberIds }: ForgetStep): boolean {
    const due = Math.max(now, limitOf(place, dest, kept));
    const rows = place.finished.all(dest, due) as unknown as [id: number][];
    if (rows.length < CHUNK) place.limits.delete(dest);
    if (rows.length === 0) return false;
    const ids = rows.map(([id]) => id).sort((a, b) => a - b);
    if (!forgetRun(place, dest, ids)) {
      const list = JSON.stringify(ids);
      for (const [name] of place.names.all(list) as unknown as [name: string][]) {
        // Ids are remembered from the moment the message is forgotten: at least as long as was promised.
        expireName.run(now + rememberIds, dest, hashOfId(name));
      }
      place.deliveriesListed.run(list);
      place.messagesListed.run(list);
    }
    return rows.length >= CHUNK;
  }

  return (step) => {
    const found = destinationsWithFinished(places, step.after);
    let full = false;
    for (const dest of found) for (const place of places) full = forgetOf(place, dest, step) || full;
    return { last: found.at(-1) ?? 0, more: found.length === DESTINATIONS, full };
  };
}

/**
 * The messages of a busy queue lie side by side. As far as nothing else lies between them, and none has a name, one walk over
 * each table removes them: half the work of finding each by its id. In a full piece it is enough when most of them do: those
 * that receivers were slower with lie behind, among others that are kept, and are the first of the next piece. False: too few
 * do, and nothing was done.
 */
function forgetRun(
  { lying, deliveriesBetween, messagesBetween }: Place,
  dest: number,
  ids: readonly number[],
): boolean {
  const [first, final] = [ids[0] as number, ids.at(-1) as number];
  const found = lying.all(first, final, ids.length) as unknown as [id: number, name: string | null][];
  const end = found.findIndex(([id, name], index) => id !== ids[index] || name !== null);
  const count = end < 0 ? found.length : end;
  if (count < (ids.length < CHUNK ? ids.length : ids.length / 2)) return false;
  const last = ids[count - 1] as number;
  deliveriesBetween.run(first, last, dest);
  messagesBetween.run(first, last);
  return true;
}

function destinationsWithFinished(places: readonly Place[], after: number): number[] {
  const found = new Set<number>();
  for (const { nextDestination } of places) {
    let from = after;
    for (let i = 0; i < DESTINATIONS; i++) {
      // One probe of the index per destination, however many finished messages it has.
      const dest = numberFrom(nextDestination, from);
      if (dest === undefined) break;
      found.add(dest);
      from = dest;
    }
  }
  return [...found].sort((a, b) => a - b).slice(0, DESTINATIONS);
}

function numberFrom(statement: StatementSync, ...values: SQLInputValue[]): number | undefined {
  const row = statement.get(...values) as unknown as [number] | undefined;
  return row?.[0];
}

function placeIn(db: DatabaseSync, schema: 'main' | 'volatile'): Place {
  const prepare = (text: string): StatementSync => {
    const statement = db.prepare(text);
    statement.setReturnArrays(true);
    return statement;
  };
  const delivery = `${schema}.delivery`;
  const message = `${schema}.message`;
  const listed = 'id IN (SELECT value FROM json_each(?))';
  return {
    nextDestination: prepare(`SELECT dest FROM ${delivery} WHERE ${IS_OVER} AND dest > ? ORDER BY dest LIMIT 1`),
    beyondKept: prepare(
      `SELECT due FROM ${delivery} WHERE dest = ? AND ${IS_OVER} ORDER BY due DESC, id DESC LIMIT 1 OFFSET +?`,
    ),
    finished: prepare(
      `SELECT id FROM ${delivery} WHERE dest = ? AND ${IS_OVER} AND due <= ? ORDER BY due, id LIMIT ${CHUNK}`,
    ),
    names: prepare(`SELECT name FROM ${message} WHERE ${listed} AND name IS NOT NULL`),
    deliveriesListed: prepare(`DELETE FROM ${delivery} WHERE ${listed}`),
    messagesListed: prepare(`DELETE FROM ${message} WHERE ${listed}`),
    // The plus sign keeps SQLite from walking over all that is kept.
    deliveriesBetween: prepare(`DELETE FROM ${delivery} WHERE id BETWEEN ? AND ? AND +dest = ? AND ${IS_OVER}`),
    messagesBetween: prepare(`DELETE FROM ${message} WHERE id BETWEEN ? AND ?`),
    lying: prepare(`SELECT id, name FROM ${message} WHERE id BETWEEN ? AND ? ORDER BY id LIMIT +?`),
    limits: new Map(),
  };
}
