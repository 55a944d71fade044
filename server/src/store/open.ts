/** Chooses the engine. The only place that knows there is a choice. */
import { openPostgres } from './postgres/postgres.ts';
import { openSqlite } from './sqlite/sqlite.ts';
import type { Store } from './store.ts';

export interface StoreLocation {
  /** A postgres:// URL; without it the embedded store in `folder` is used. */
  readonly database: string | undefined;
  readonly folder: string;
  readonly reserveBytes: number;
}

export function openStore(location: StoreLocation, log: (event: string, details?: object) => void): Promise<Store> {
  if (location.database !== undefined) return openPostgres(location.database, { log });
  const onError = (error: unknown): void => log('checkpoint failed', { error: (error as Error).message });
  return openSqlite(location.folder, { reserveBytes: location.reserveBytes, onError });
}
