/** Use cases of clearing a queue: purge it, or send dead letters back to where they came from. */
import { hashOfId, type Store, type Tx } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import type { StoredField } from '../forwarded-fields.ts';
import { DEAD_LETTER_ORIGIN, placement } from '../message.ts';
import { holdQueue } from '../queries/destinations.ts';
import { countWaiting, expireName, purgeChunk, removeMessages } from '../queries/messages.ts';
import { copyMessage, type DeadLetter, isOfDeath, lockDeadLetters, type QueuePlace } from '../queries/redelivery.ts';
import { roomIn, type TakeRoom } from '../queries/room.ts';
import type { EffectiveSettings } from '../settings.ts';

export interface Clearing {
  /** Drops everything that waits, leased messages included. Tells how many. */
  purge(queue: Destination): Promise<number>;
  /** Sends up to `max` dead letters back to their queues, as new messages at the end. */
  redrive(queue: Destination, max: number): Promise<Redriven>;
}

export interface Redriven {
  readonly moved: number;
  /** Queues that had no room for all that came from them; the rest stays where it is. */
  readonly full: readonly string[];
}

/** A queue that dead letters go back to. */
interface Origin {
  readonly id: number;
  readonly settings: EffectiveSettings;
  readonly takeRoom: TakeRoom;
  isFull: boolean;
  moved: number;
}

/** Before everything in a queue. */
const HEAD: QueuePlace = { rank: -1, ord: 0 };

/** Worked off in pieces, so that other traffic goes on in between. */
const CHUNK = 200;

export function createClearing(store: Store, rememberIds: number): Clearing {
  /** The queue of that name, held until the transaction ends. */
  async function originOf(tx: Tx, name: string): Promise<Origin> {
    const fresh = { id: store.nextId(), kind: 'queue', name, settings: {}, version: 1, created: store.now() } as const;
    const queue = await holdQueue(tx, fresh);
    return { id: queue.id, settings: queue.effective, takeRoom: await roomIn(tx, queue), isFull: false, moved: 0 };
  }

  /** Copies what fits into its queue. Of a queue that is full no later letter goes either: they keep their order. */
  async function sendBack(tx: Tx, letters: readonly DeadLetter[]): Promise<Map<string, Origin>> {
    const origins = new Map<string, Origin>();
    for (const { id, size, headers } of letters) {
      const fields = JSON.parse(headers) as StoredField[];
      const name = fields.find(([name]) => name === DEAD_LETTER_ORIGIN)?.[1];
      // A message that was posted here directly came from nowhere else.
      if (name === undefined) continue;
      const origin = origins.get(name) ?? (await originOf(tx, name));
      origins.set(name, origin);
      origin.isFull ||= !origin.takeRoom(size);
      if (origin.isFull) continue;
      const kept = fields.filter(([name]) => !isOfDeath(name));
      const { expires } = placement({}, origin.settings, store.now());
      const copy = { id: store.nextId() * 2, destination: origin.id, headers: JSON.stringify(kept), expires };
      await copyMessage(tx, id, copy);
      await removeMessages(tx, [id]);
      origin.moved++;
    }
    return origins;
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
      const full = new Set<string>();
      let after: QueuePlace = HEAD;
      while (moved < max) {
        const { origins, last } = await store.transaction(async (tx) => {
          const letters = await lockDeadLetters(tx, queue.id, after, Math.min(CHUNK, max - moved));
          return { origins: await sendBack(tx, letters), last: letters.at(-1) };
        });
        if (last === undefined) break;
        // Those that stay were posted here directly, or do not fit; others may lie behind them.
        after = last;
        const arrived = new Map<number, number>();
        for (const [name, origin] of origins) {
          if (origin.isFull) full.add(name);
          if (origin.moved > 0) arrived.set(origin.id, origin.moved);
          moved += origin.moved;
        }
        if (arrived.size > 0) store.announce({ arrived });
      }
      return { moved, full: [...full] };
    },
  };
}
