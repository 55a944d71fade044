/** The two engines as the model tests open them. */
import { freshDatabase } from '../../../testing/databases.ts';
import { temporaryFolder } from '../../../testing/folders.ts';
import { openPostgres } from '../../src/store/postgres/postgres.ts';
import { openSqlite } from '../../src/store/sqlite/sqlite.ts';
import { openService, type Service } from './service.ts';

export function sqliteService(): Promise<Service> {
  const folder = temporaryFolder({ inMemory: true });
  return openService((now) => openSqlite(folder, { now }));
}

/** The database goes when the service is closed. */
export async function postgresService(): Promise<Service> {
  const { url, drop } = await freshDatabase();
  const service = await openService((now) => openPostgres(url, { now }));
  const { close } = service;
  return Object.assign(service, {
    async close() {
      await close();
      await drop();
    },
  });
}
