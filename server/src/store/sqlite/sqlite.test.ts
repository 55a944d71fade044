import { rmSync } from 'node:fs';
import { temporaryFolder } from '../../../../testing/folders.ts';
import { storeCases } from '../store.cases.ts';
import { openSqlite } from './sqlite.ts';

storeCases('SQLite', async () => {
  const folder = temporaryFolder();
  let store = await openSqlite(folder);
  return {
    store,
    async reopen() {
      await store.close();
      store = await openSqlite(folder);
      return store;
    },
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});
