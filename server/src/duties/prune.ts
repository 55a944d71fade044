/**
 * Forgets what has passed its retention: consumed, dead and expired messages, those of topics, client-chosen ids and used
 * create-next chains. Works in small pieces, so that it never stands in the way of traffic.
 */
import type { Destination } from '../messaging/destination.ts';
import { hashOfId } from '../messaging/message.ts';
import { listDestinations } from '../messaging/queries/destinations.ts';
import { expireName } from '../messaging/queries/messages.ts';
import { MAX_CONSUMED_KEPT } from '../messaging/settings.ts';
import type { Place } from '../store/dialect.ts';
import { IS_OVER, type Store, type Tx } from '../store/store.ts';
import type { Duty } from './duties.ts';

const CHUNK = 500;
const EVERY = 2000;
/** Destinations looked at in one step. */
const DESTINATIONS = 50;
/** So long it is believed how many are too many: this node may stand still, and another do this meanwhile. */
const TRUST = 10_000;

export function createPruner(store: Store, rememberIds: number): Duty {
  // Where the walks over the destinations and over the topics go on.
  let after = 0;
  let topic = '';
  const limits: Limits = { now: store.now, known: new Map() };
  return async () => {
    const now = store.now();
    const topics = await store.transaction(async (tx) => {
      const page = { limit: DESTINATIONS - 1, key: topic, backwards: false };
      const found = await listDestinations(tx, 'topic', page);
      let full = false;
      for (const each of found) {
        for (const place of tx.dialect.places) full = (await pruneTopic(tx, place, each, now)) || full;
      }
      return { last: found.length === DESTINATIONS ? (found.at(-1)?.name ?? '') : '', full };
    });
    if (!topics.full) topic = topics.last;
    const step = await store.transaction(async (tx) => {
      const found = await destinationsWithFinished(tx, after);
      let full = false;
      for (const dest of found) {
        for (const place of tx.dialect.places)
          full = (await pruneDestination(tx, place, dest, now, rememberIds, limits)) || full;
      }
      return { last: found.at(-1) ?? 0, more: found.length === DESTINATIONS, full };
    });
    const forgotten = await store.transaction(
      async (tx) => (await forgetNames(tx, now)) + (await forgetChains(tx, now)),
    );
    // A destination that had more than one piece is looked at again before the walk goes on.
    if (step.full) return 0;
    after = step.more ? step.last : 0;
    return step.more || topics.full || topic !== '' || forgotten >= CHUNK ? 0 : EVERY;
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
  readonly now: () => number;
  readonly known: Map<string, { readonly due: number; readonly at: number }>;
}

async function limitOf(tx: Tx, { delivery }: Place, dest: number, limits: Limits): Promise<number> {
  const key = `${delivery} ${dest}`;
  const at = limits.now();
  const known = limits.known.get(key);
  if (known !== undefined && Math.abs(at - known.at) <= TRUST) return known.due;
  const beyond = await tx.get<{ due: number }>(
    `SELECT due FROM ${delivery} WHERE dest = $1 AND ${IS_OVER}
     ORDER BY due DESC, id DESC LIMIT 1 OFFSET ${MAX_CONSUMED_KEPT}`,
    [dest],
  );
  const due = beyond?.due ?? 0;
  limits.known.set(key, { due, at });
  return due;
}

/** True when a full piece was removed: there may be more. */
async function pruneDestination(
  tx: Tx,
  place: Place,
  dest: number,
  now: number,
  rememberIds: number,
  limits: Limits,
): Promise<boolean> {
  const { message, delivery } = place;
  const limit = await limitOf(tx, place, dest, limits);
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
    if (name !== null) await expireName(tx, dest, hashOfId(name), now + rememberIds);
  }
  return rows.length >= CHUNK;
}

function forgetNames(tx: Tx, now: number): Promise<number> {
  return tx.run(
    `DELETE FROM message_name WHERE (dest, hash) IN
       (SELECT dest, hash FROM message_name WHERE forget <= $1 ORDER BY forget LIMIT ${CHUNK} ${tx.dialect.skipLocked})`,
    [now],
  );
}

async function forgetChains(tx: Tx, now: number): Promise<number> {
  const rows = await tx.all<{ chain: number }>(
    `DELETE FROM once_chain WHERE chain IN
       (SELECT chain FROM once_chain WHERE expires <= $1 ORDER BY expires LIMIT ${CHUNK} ${tx.dialect.skipLocked})
     RETURNING chain`,
    [now],
  );
  if (rows.length === 0) return 0;
  const chains = tx.dialect.list(rows.map(({ chain }) => chain));
  await tx.run(`DELETE FROM once_batch WHERE chain ${tx.dialect.inList('$1')}`, [chains]);
  return rows.length;
}

/** Removes the oldest messages of a topic as far as they have passed its retention. True: there may be more. */
async function pruneTopic(tx: Tx, { message }: Place, topic: Destination, now: number): Promise<boolean> {
  const removed = await tx.run(
    `DELETE FROM ${message} WHERE id IN (SELECT id FROM
       (SELECT id, posted FROM ${message} WHERE dest = $1 AND pos IS NOT NULL ORDER BY pos LIMIT ${CHUNK}) AS oldest
       WHERE posted <= $2)`,
    [topic.id, Math.floor(now - topic.effective.retention * 1000)],
  );
  return removed >= CHUNK;
}
