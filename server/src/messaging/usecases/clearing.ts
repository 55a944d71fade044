/** Use cases of clearing a queue: purge it, or send dead letters back to where they came from. */
import { hashOfId, type Store, type Tx } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import type { StoredField } from '../forwarded-fields.ts';
import { DEAD_LETTER_ORIGIN, DEAD_LETTER_REASON } from '../message.ts';
import { holdQueue } from '../queries/destinations.ts';
import { countWaiting, expireName, purgeChunk, removeMessages } from '../queries/messages.ts';
import { copyMessage, type DeadLetter, lockDeadLetters, type QueuePlace } from '../queries/redelivery.ts';

export interface Clearing {
  /** Drops everything that waits, leased messages included. Tells how many. */
  purge(queue: Destination): Promise<number>;
  /** Sends up to `max` dead letters back to their queues, as new messages at the end. Tells how many. */
  redrive(queue: Destination, max: number): Promise<number>;
}

/** Before everything in a queue. */
const HEAD: QueuePlace = { rank: -1, ord: 0 };

/** Worked off in pieces, so that other traffic goes on in between. */
const CHUNK = 200;

export function createClearing(store: Store, rememberIds: number): Clearing {
  async function originOf(tx: Tx, name: string): Promise<number> {
    const fresh = { id: store.nextId(), kind: 'queue', name, settings: {}, version: 1, created: store.now() } as const;
    return (await holdQueue(tx, fresh)).id;
  }

  async function sendBack(tx: Tx, letters: readonly DeadLetter[]): Promise<Map<number, number>> {
    const arrived = new Map<number, number>();
    for (const { id, headers } of letters) {
      const fields = JSON.parse(headers) as StoredField[];
      const origin = fields.find(([name]) => name === DEAD_LETTER_ORIGIN)?.[1];
      // A message that was posted here directly came from nowhere else.
      if (origin === undefined) continue;
      const kept = fields.filter(([name]) => name !== DEAD_LETTER_ORIGIN && name !== DEAD_LETTER_REASON);
      const destination = await originOf(tx, origin);
      await copyMessage(tx, id, { id: store.nextId() * 2, destination, headers: JSON.stringify(kept) });
      await removeMessages(tx, [id]);
      arrived.set(destination, (arrived.get(destination) ?? 0) + 1);
    }
    return arrived;
  }

  return {
    async purge(queue) {
      // As many as wait now: under steady posting a purge that goes on until nothing is left would never end.
      const waiting = await store.read((tx) => countWaiting(tx, queue.id));
      let purged = 0;
      while (purged < waiting) {
        const forget = store.now() + rememberIds;
        const removed = await store.transaction(async (tx) => {
          const gone = await purgeChunk(tx, queue.id, Math.min(CHUNK, waiting - purged));
          for (const { name } of gone ?? []) if (name !== null) await expireName(tx, queue.id, hashOfId(name), forget);
          return gone?.length;
        });
        if (removed === undefined) break;
        purged += removed;
      }
      return purged;
    },
    async redrive(queue, max) {
      let moved = 0;
      let after: QueuePlace = HEAD;
      while (moved < max) {
        const { arrived, last } = await store.transaction(async (tx) => {
          const letters = await lockDeadLetters(tx, queue.id, after, Math.min(CHUNK, max - moved));
          return { arrived: await sendBack(tx, letters), last: letters.at(-1) };
        });
        if (last === undefined) break;
        // Those that stay were posted here directly; others may lie behind them.
        after = last;
        if (arrived.size > 0) store.announce({ arrived });
        for (const count of arrived.values()) moved += count;
      }
      return moved;
    },
  };
}
