/** Databases of earlier versions keep what they hold. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { freshDatabase } from '../../../testing/databases.ts';
import { deadLetterSource } from '../messaging/queries/destinations.ts';
import { migrate, migrations } from './migrate.ts';
import { openPostgres } from './postgres/postgres.ts';
import { createConnection } from './sqlite/connection.ts';
import { sqliteDialect } from './sqlite/dialect.ts';
import type { Row, Tx } from './store.ts';

function sqliteTx(db: DatabaseSync): Tx {
  const connection = createConnection(db);
  return {
    dialect: sqliteDialect('0'),
    all: async <R = Row>(text: string, values: Parameters<Tx['all']>[1] = []) => connection.all(text, values) as R[],
    get: async <R = Row>(text: string, values: Parameters<Tx['get']>[1] = []) =>
      connection.all(text, values)[0] as R | undefined,
    run: async (text, values = []) => connection.run(text, values),
    finish: async (text, values = []) => void connection.run(text, values),
  };
}

/** Each gives a place where no table is yet. */
const ENGINES = {
  async sqlite(job: (tx: Tx) => Promise<void>) {
    const db = new DatabaseSync(':memory:');
    await job(sqliteTx(db));
    db.close();
  },
  async postgresql(job: (tx: Tx) => Promise<void>) {
    const { url, drop } = await freshDatabase();
    const store = await openPostgres(url);
    await store.transaction(async (tx) => {
      await tx.run('CREATE SCHEMA earlier');
      await tx.run('SET LOCAL search_path TO earlier');
      await job(tx);
    });
    await store.close();
    await drop();
  },
};

for (const engine of ['sqlite', 'postgresql'] as const) {
  describe(`a database of an earlier version, ${engine}`, () => {
    test('5: owners keep what they own until their leases are over', () =>
      ENGINES[engine](async (tx) => {
        await migrate(tx, engine, migrations.slice(0, 5));
        await tx.run(`INSERT INTO coordinator (id, until) VALUES ('coordinator', 7000)`);
        await tx.run(`INSERT INTO node (id, place, beat_until) VALUES ('forwarder', 'machine 8080', 8000)`);
        await tx.run(`INSERT INTO duty (name, owner, until) VALUES ('prune', 'somebody', 9000)`);
        await tx.run(`INSERT INTO txn (id, state, timeout, created, deadline, owner, epoch)
          VALUES (1, 'committing', '60000', 1, 60001, 'coordinator', 3)`);
        await migrate(tx, engine);
        assert.deepEqual(
          (await tx.all('SELECT id, beat_until, process FROM node ORDER BY id')).map((row) => ({ ...(row as Row) })),
          [
            { id: 'coordinator', beat_until: 7000, process: null },
            { id: 'forwarder', beat_until: 8000, process: null },
          ],
        );
        const transaction = await tx.get<{ owner: string; epoch: number }>('SELECT owner, epoch FROM txn WHERE id = 1');
        assert.deepEqual({ ...transaction }, { owner: 'coordinator', epoch: 3 });
        // Two nodes that prune for a moment do no harm; a duty that nobody does would.
        assert.equal(await tx.get('SELECT owner FROM duty'), undefined);
      }));

    test('7: used links stay used', () =>
      ENGINES[engine](async (tx) => {
        await migrate(tx, engine, migrations.slice(0, 7));
        await tx.run('INSERT INTO once_chain (chain, n, expires) VALUES (17, 3, 9000)');
        await migrate(tx, engine);
        assert.deepEqual(
          { ...(await tx.get<Row>('SELECT chain, n, expires FROM once_chain')) },
          { chain: 17, n: 3, expires: 9000 },
        );
      }));

    test('8: who names a dead-letter queue is found by its name', () =>
      ENGINES[engine](async (tx) => {
        await migrate(tx, engine, migrations.slice(0, 8));
        await tx.run(`INSERT INTO destination (id, kind, name, settings, version, created)
          VALUES (1, 'queue', 'a', '{"lease":5,"dead-letter":"b"}', 1, 1), (2, 'queue', 'b', '{}', 1, 1)`);
        await migrate(tx, engine);
        assert.deepEqual([await deadLetterSource(tx, 'b'), await deadLetterSource(tx, 'a')], ['a', undefined]);
      }));
  });
}
