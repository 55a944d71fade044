/** How much of the memory volatile messages take. */
import type { DatabaseSync } from 'node:sqlite';

/** Volatile messages beyond this are stored on disk like others: the memory is bounded, the promise is kept. */
const MAX_VOLATILE_BYTES = 256 * 1024 * 1024;
/** Milliseconds for which one look at the room is good. */
const TRUST_ROOM_FOR = 5;

export interface VolatileRoom {
  readonly hasRoom: boolean;
  /** Looks again, should the last look be too old. Only when it is this thread's turn. */
  look(): void;
}

/**
 * Whether there is room for volatile messages. A look costs as much as an insert, so it is trusted for a moment; what comes
 * in during that moment is bounded by what the service takes in at once.
 */
export function createVolatileRoom(db: DatabaseSync): VolatileRoom {
  const pageCount = db.prepare('PRAGMA volatile.page_count');
  const freeCount = db.prepare('PRAGMA volatile.freelist_count');
  const pageSize = db.prepare('PRAGMA volatile.page_size');
  let lookedAt = Number.NEGATIVE_INFINITY;
  let hasRoom = true;
  return {
    get hasRoom() {
      return hasRoom;
    },
    look() {
      const now = performance.now();
      if (now - lookedAt < TRUST_ROOM_FOR) return;
      lookedAt = now;
      const { page_count: all } = pageCount.get() as { page_count: number };
      // Pages of messages that have left stay with the database and are used again.
      const { freelist_count: free } = freeCount.get() as { freelist_count: number };
      const { page_size: bytes } = pageSize.get() as { page_size: number };
      hasRoom = (all - free) * bytes < MAX_VOLATILE_BYTES;
    },
  };
}
