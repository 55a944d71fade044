/** Random histories of messaging against the models, a few on each engine; model.heavy.test.ts plays thousands. */
import { describe, it } from 'node:test';
import { checkHistories } from './check.ts';
import { postgresService, sqliteService } from './engines.ts';

describe('messaging behaves like its model', { timeout: 240_000 }, () => {
  it('on SQLite', async () => {
    const service = await sqliteService();
    try {
      await checkHistories(service, { runs: 150, length: 40, restarts: 2 });
    } finally {
      await service.close();
    }
  });

  it('on PostgreSQL', async () => {
    const service = await postgresService();
    try {
      await checkHistories(service, { runs: 15, length: 40, restarts: 1 });
    } finally {
      await service.close();
    }
  });
});
