import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshDatabase } from './databases.ts';
import { withConnection } from './postgres.ts';

test('gives each caller an empty database, which is gone after dropping it', async () => {
  const [one, two] = await Promise.all([freshDatabase(), freshDatabase()]);
  assert.notEqual(one.url, two.url);
  const tables = await withConnection(one.url, (query) => query(`SELECT * FROM pg_tables WHERE schemaname = 'public'`));
  assert.equal(tables.length, 0);
  await one.drop();
  await assert.rejects(
    withConnection(one.url, (query) => query('SELECT 1')),
    { code: '3D000' },
  );
  await two.drop();
});
