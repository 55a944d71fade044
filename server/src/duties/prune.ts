/**
 * Forgets what has passed its retention: consumed, dead and expired messages, those of topics, client-chosen ids and used
 * create-next chains. Works in small pieces, so that it never stands in the way of traffic.
 */
import type { Destination } from '../messaging/destination.ts';
import { listDestinations } from '../messaging/queries/destinations.ts';
import { MAX_CONSUMED_KEPT } from '../messaging/settings.ts';
import type { Place } from '../store/dialect.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Duty } from './duties.ts';

const CHUNK = 500;
const EVERY = 2000;
/** Topics looked at in one step. */
const TOPICS = 50;
/** Pieces of finished messages that are forgotten before the other things are looked at again. */
const PIECES = 20;

export function createPruner(store: Store, rememberIds: number): Duty {
  // Where the walks over the destinations and over the topics go on.
  let after = 0;
  let topic = '';
  return async () => {
    const now = store.now();
    const topics = await store.transaction(async (tx) => {
      const page = { limit: TOPICS - 1, key: topic, backwards: false };
      const found = await listDestinations(tx, 'topic', page);
      let full = false;
      for (const each of found) {
        for (const place of tx.dialect.places) full = (await pruneTopic(tx, place, each, now)) || full;
      }
      return { last: found.length === TOPICS ? (found.at(-1)?.name ?? '') : '', full };
    });
    if (!topics.full) topic = topics.last;
    // A destination that had more than one piece is looked at again before the walk goes on.
    const piece = { after, now, kept: MAX_CONSUMED_KEPT, rememberIds };
    let step = await store.messages.forgetFinished(piece);
    for (let pieces = 1; step.full && pieces < PIECES; pieces++) step = await store.messages.forgetFinished(piece);
    const forgotten = await store.transaction(
      async (tx) => (await forgetNames(tx, now)) + (await forgetChains(tx, now)),
    );
    if (step.full) return 0;
    after = step.more ? step.last : 0;
    return step.more || topics.full || topic !== '' || forgotten >= CHUNK ? 0 : EVERY;
  };
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
