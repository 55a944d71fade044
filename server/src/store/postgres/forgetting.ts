/** Forgets finished messages in small pieces. SQLite does the same on its hot thread, see ../sqlite/hot/forgetting.ts. */
import type { Place } from '../dialect.ts';
import { type ForgetStep, type Forgotten, hashOfId, IS_OVER, type Tx } from '../store.ts';

const CHUNK = 500;
/** Destinations looked at in one step. */
const DESTINATIONS = 50;
/** Milliseconds for which it is believed how many are too many. The process may stand still, and another do this meanwhile. */
const TRUST = 10_000;
const EXPIRE_NAME = 'UPDATE message_name SET forget = $3 WHERE dest = $1 AND hash = $2';

export function createForgetting(
  monotonic = () => performance.now(),
): (tx: Tx, step: ForgetStep) => Promise<Forgotten> {
  const limits: Limits = { monotonic, known: new Map() };
  return async (tx, step) => {
    const found = await destinationsWithFinished(tx, step.after);
    let full = false;
    for (const dest of found) {
      for (const place of tx.dialect.places) full = (await forgetOf(tx, place, dest, step, limits)) || full;
    }
    return { last: found.at(-1) ?? 0, more: found.length === DESTINATIONS, full };
  };
}

async function destinationsWithFinished(tx: Tx, after: number): Promise<number[]> {
  const found = new Set<number>();
  for (const { delivery } of tx.dialect.places) {
    let from = after;
    for (let i = 0; i < DESTINATIONS; i++) {
      // One probe of the index per destination, however many finished messages it has.
      const text = `SELECT dest FROM ${delivery} WHERE ${IS_OVER} AND dest > $1 ORDER BY dest LIMIT 1`;
      const row = await tx.get<{ dest: number }>(text, [from]);
      if (row === undefined) break;
      found.add(row.dest);
      from = row.dest;
    }
  }
  return [...found].sort((a, b) => a - b).slice(0, DESTINATIONS);
}

/**
 * Up to which due time each destination's finished messages are too many, by place and destination. Finding that out is a
 * walk over all that may be kept, so it serves for a while, or until nothing is left to remove by it.
 */
interface Limits {
  readonly monotonic: () => number;
  readonly known: Map<string, { readonly due: number; readonly at: number }>;
}

async function limitOf(tx: Tx, { delivery }: Place, dest: number, kept: number, limits: Limits): Promise<number> {
  const key = `${delivery} ${dest}`;
  const at = limits.monotonic();
  const known = limits.known.get(key);
  if (known !== undefined && at - known.at <= TRUST) return known.due;
  const beyond = await tx.get<{ due: number }>(
    `SELECT due FROM ${delivery} WHERE dest = $1 AND ${IS_OVER}
     ORDER BY due DESC, id DESC LIMIT 1 OFFSET $2`,
    [dest, kept],
  );
  const due = beyond?.due ?? 0;
  limits.known.set(key, { due, at });
  return due;
}

/** True when a full piece was removed: there may be more. */
async function forgetOf(
  tx: Tx,
  place: Place,
  dest: number,
  { now, kept, rememberIds }: ForgetStep,
  limits: Limits,
): Promise<boolean> {
  const { message, delivery } = place;
  const limit = await limitOf(tx, place, dest, kept, limits);
  const rows = await tx.all<{ id: number }>(
    `DELETE FROM ${delivery} WHERE id IN
       (SELECT id FROM ${delivery} WHERE dest = $1 AND ${IS_OVER} AND due <= $2
        ORDER BY due, id LIMIT ${CHUNK} ${tx.dialect.skipLocked})
     RETURNING id`,
    [dest, Math.max(now, limit)],
  );
  if (rows.length < CHUNK) limits.known.delete(`${delivery} ${dest}`);
  if (rows.length === 0) return false;
  const ids = tx.dialect.list(rows.map(({ id }) => id));
  const text = `DELETE FROM ${message} WHERE id ${tx.dialect.inList('$1')} RETURNING name`;
  for (const { name } of await tx.all<{ name: string | null }>(text, [ids])) {
    // Ids are remembered from the moment the message is forgotten: at least as long as was promised.
    if (name !== null) await tx.run(EXPIRE_NAME, [dest, hashOfId(name), now + rememberIds]);
  }
  return rows.length >= CHUNK;
}
