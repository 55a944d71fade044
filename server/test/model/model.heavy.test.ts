/** Thousands of random histories of messaging against the models. See check.ts for how a failure is played again. */
import { describe, it } from 'node:test';
import { checkHistories } from './check.ts';
import { postgresService, sqliteService } from './engines.ts';

describe('messaging behaves like its model over thousands of histories', { timeout: 600_000 }, () => {
  it('on SQLite', async () => {
    const service = await sqliteService();
    try {
      await checkHistories(service, { runs: 2200, length: 50, restarts: 2 });
    } finally {
      await service.close();
    }
  });

  it('on PostgreSQL', async () => {
    const service = await postgresService();
    try {
      await checkHistories(service, { runs: 220, length: 40, restarts: 1 });
    } finally {
      await service.close();
    }
  });
});
