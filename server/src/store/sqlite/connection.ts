/** Statements on one SQLite connection: prepared once per text, `$1` understood as on PostgreSQL, BLOBs as Buffers. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { Problem } from '../../problems.ts';
import type { Row, SqlValue } from '../store.ts';

export interface Connection {
  readonly db: DatabaseSync;
  statement(text: string): StatementSync;
  all(text: string, values: readonly SqlValue[]): Row[];
  run(text: string, values: readonly SqlValue[]): number;
}

export function createConnection(db: DatabaseSync): Connection {
  const prepared = new Map<string, StatementSync>();
  const statement = (text: string): StatementSync => {
    let found = prepared.get(text);
    if (found === undefined) {
      found = db.prepare(inSqlite(text));
      prepared.set(text, found);
    }
    return found;
  };
  return {
    db,
    statement,
    all(text, values) {
      const rows = statement(text).all(...(values as SQLInputValue[])) as Row[];
      for (const row of rows) {
        for (const column in row) {
          const value = row[column];
          if (value instanceof Uint8Array) row[column] = asBuffer(value);
        }
      }
      return rows;
    },
    run(text, values) {
      return Number(statement(text).run(...(values as SQLInputValue[])).changes);
    },
  };
}

/**
 * SQLite reads `$1` as a name; `?1` is the numbered parameter. A limit that is a bare parameter has it plan the statement
 * anew each time it runs, which takes twenty times as long as running it; the plus sign hides the parameter.
 */
const inSqlite = (text: string): string => text.replace(/\bLIMIT \$(\d+)/g, 'LIMIT +?$1').replace(/\$(\d+)/g, '?$1');

/** The same bytes, without a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_NOMEM = 7;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;

const unavailable = new Set([
  SQLITE_BUSY,
  SQLITE_LOCKED,
  SQLITE_NOMEM,
  SQLITE_READONLY,
  SQLITE_IOERR,
  SQLITE_CORRUPT,
  SQLITE_CANTOPEN,
]);

/** Says what an error of the engine means to a client: no room, not available, or a fault of ours (as it is). */
export function explain(error: unknown): unknown {
  const code = (error as { errcode?: number }).errcode;
  if (code === undefined) return error;
  const primary = code & 0xff;
  if (primary === SQLITE_FULL) return storageFull(error);
  if (unavailable.has(primary)) {
    return new Problem('store-unavailable', 'the store cannot be written or read at the moment', retrySoon, error);
  }
  return error;
}

export const retrySoon = { headers: { 'Retry-After': '1' } } as const;

export function storageFull(cause?: unknown): Problem {
  return new Problem('storage-full', 'there is no room left on the disk; nothing was stored', retrySoon, cause);
}
