/**
 * Keeps Waypost able to work on a disk that is nearly full. With no byte free SQLite cannot even delete, so posts are
 * refused while less than the reserve is free, and a ballast file is given up when others fill the disk to the brim:
 * receiving, purging and checkpointing then still have room.
 */
import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Problem } from '../../problems.ts';
import { storageFull } from './connection.ts';

export interface DiskReserve {
  refuseGrowth(): Problem | undefined;
  /** Gives the ballast up, if it is there; it comes back by itself when there is room again. */
  dropBallast(): boolean;
}

/** How long one look at the free space is trusted. */
const LOOK_EVERY = 20;

export function createDiskReserve(folder: string, reserveBytes: number): DiskReserve {
  const ballast = join(folder, 'ballast');
  const ballastBytes = Math.floor(Math.min(reserveBytes / 4, 8 * 1024 * 1024));
  let lookedAt = Number.NEGATIVE_INFINITY;
  let free = 0;
  let hasBallast = existsSync(ballast);

  const look = (): void => {
    lookedAt = performance.now();
    free = freeBytes(folder);
    if (!hasBallast && ballastBytes > 0 && free > reserveBytes * 2) {
      try {
        writeFileSync(ballast, Buffer.alloc(ballastBytes));
        hasBallast = true;
      } catch {
        rmSync(ballast, { force: true });
      }
    }
  };

  const dropBallast = (): boolean => {
    // Another thread may have given it up already.
    const dropped = existsSync(ballast);
    rmSync(ballast, { force: true });
    hasBallast = false;
    lookedAt = Number.NEGATIVE_INFINITY;
    return dropped;
  };

  // On a full disk SQLite cannot even open a database that is there already.
  if (hasBallast && freeBytes(folder) < ballastBytes) dropBallast();

  return {
    refuseGrowth() {
      if (performance.now() - lookedAt > LOOK_EVERY) look();
      return free < reserveBytes ? storageFull() : undefined;
    },
    dropBallast,
  };
}

/** A disk that cannot be asked is no reason to refuse: whether it can be written, the store finds out by writing. */
function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
