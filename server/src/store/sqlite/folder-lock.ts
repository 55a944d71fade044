/** One process per data folder. An exclusive lock on a tiny database goes with the process, also by kill -9. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../problems.ts';

export const LOCK_FILE = 'lock.db';

/** Whether a folder could not be locked because somebody else holds it. */
export const isLockedOut = (error: unknown): boolean => error instanceof Problem && error.code === 'conflict';

export function lockFolder(folder: string): { release(): void } {
  const lock = new DatabaseSync(join(folder, LOCK_FILE));
  try {
    // In this mode the lock outlives its transaction. Locking an empty file writes, which a full disk does not allow.
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    if (lock.prepare('PRAGMA user_version').get()?.user_version === 0) lock.exec('PRAGMA user_version = 1');
    lock.exec('COMMIT');
  } catch (error) {
    lock.close();
    if (((error as { errcode?: number }).errcode ?? 0) % 256 !== 5) throw error;
    throw new Problem('conflict', `another Waypost process uses the data folder ${folder}`);
  }
  return {
    release() {
      lock.close();
    },
  };
}
