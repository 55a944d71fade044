/** How much of the memory volatile messages take. */
import type { DatabaseSync } from 'node:sqlite';

/** Volatile messages beyond this are stored on disk like others: the memory is bounded, the promise is kept. */
const MAX_VOLATILE_BYTES = 256 * 1024 * 1024;
/** For how many bytes written and for how many milliseconds one look at the room is good. */
const TRUST_BYTES = 1024 * 1024;
const TRUST_TIME = 100;
/** Milliseconds until the next look while there is no room. */
const TRUST_FULL = 5;

export interface VolatileRoom {
  readonly hasRoom: boolean;
  /** Told what was written, of whatever kind. */
  wrote(bytes: number): void;
  /** Looks again, should the last look be too old. Only in this thread's turn. */
  look(): void;
}

/**
 * Whether there is room for volatile messages. A look costs as much as some inserts, so it is trusted for a moment; what
 * comes in during that moment is bounded.
 */
export function createVolatileRoom(db: DatabaseSync): VolatileRoom {
  const pageCount = db.prepare('PRAGMA volatile.page_count');
  const freeCount = db.prepare('PRAGMA volatile.freelist_count');
  const pageSize = db.prepare('PRAGMA volatile.page_size');
  let lookedAt = Number.NEGATIVE_INFINITY;
  let written = 0;
  let hasRoom = true;
  return {
    get hasRoom() {
      return hasRoom;
    },
    wrote(bytes) {
      written += bytes;
    },
    look() {
      const now = performance.now();
      if (written < TRUST_BYTES && now - lookedAt < (hasRoom ? TRUST_TIME : TRUST_FULL)) return;
      lookedAt = now;
      written = 0;
      const { page_count: all } = pageCount.get() as { page_count: number };
      // Pages of messages that have left stay with the database and are used again.
      const { freelist_count: free } = freeCount.get() as { freelist_count: number };
      const { page_size: bytesOfPage } = pageSize.get() as { page_size: number };
      hasRoom = (all - free) * bytesOfPage < MAX_VOLATILE_BYTES;
    },
  };
}
