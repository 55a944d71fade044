import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshDatabase } from '../../../testing/databases.ts';
import { openPostgres } from '../store/postgres/postgres.ts';
import type { Store } from '../store/store.ts';
import { sweepDoomed } from './sweep.ts';

const NODES = 4;
const MESSAGES = 3000;

test('nodes that sweep the same deleted destination leave nothing of it', async () => {
  const database = await freshDatabase();
  const stores: Store[] = [];
  try {
    for (let n = 0; n < NODES; n++) stores.push(await openPostgres(database.url));
    const [store] = stores as [Store];
    await store.transaction(async (tx) => {
      await tx.run(
        `INSERT INTO message (id, dest, posted, headers, body, durable)
         SELECT 2 * n, 7, 1, '[]', '', true FROM generate_series(1, ${MESSAGES}) AS n`,
      );
      await tx.run(
        `INSERT INTO delivery (id, dest, rank, ord, state, tries, token, size, durable)
         SELECT 2 * n, 7, 5, n, 0, 0, 0, 0, true FROM generate_series(1, ${MESSAGES}) AS n`,
      );
      await tx.run('INSERT INTO doomed_destination (id) VALUES (7)');
    });
    await Promise.all(
      stores.map(async (each) => {
        while ((await sweepDoomed(each)) === 0);
      }),
    );
    // Some may have found it held by another; by now nobody holds it.
    while ((await sweepDoomed(store)) === 0);
    for (const table of ['message', 'delivery', 'doomed_destination']) {
      const row = await store.read((tx) => tx.get<{ count: number }>(`SELECT count(*) AS count FROM ${table}`));
      assert.equal(row?.count, 0, table);
    }
  } finally {
    await Promise.all(stores.map((each) => each.close()));
    await database.drop();
  }
});
