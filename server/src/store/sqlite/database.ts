/** Opens the database for one thread. The durable part is a file; the volatile part lies in memory that all threads share. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface DatabasePlace {
  readonly file: string;
  /** The address of the volatile part: memory with a name, gone with the last connection to it. */
  readonly volatile: string;
}

export const DATABASE_FILE = 'waypost.db';

export const databaseIn = (folder: string): DatabasePlace => ({
  file: join(folder, DATABASE_FILE),
  volatile: `file:/waypost-${randomUUID()}?vfs=memdb`,
});

/** Kibibytes that a connection remembers of the two databases. */
export interface CacheSizes {
  readonly durable: number;
  readonly volatile: number;
}

const CACHES: CacheSizes = { durable: 32 * 1024, volatile: 8 * 1024 };

export function openDatabase({ file, volatile }: DatabasePlace, caches = CACHES): DatabaseSync {
  const db = new DatabaseSync(file);
  try {
    // FULL: the commit is on disk when COMMIT returns. Checkpoints are ours (see checkpoint.ts).
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0');
    db.exec(`PRAGMA temp_store = MEMORY; ATTACH '${volatile}' AS volatile`);
    db.exec('PRAGMA volatile.journal_mode = MEMORY; PRAGMA volatile.synchronous = OFF');
    db.exec(`PRAGMA main.cache_size = -${caches.durable}; PRAGMA volatile.cache_size = -${caches.volatile}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
