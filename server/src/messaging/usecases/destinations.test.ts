import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshDatabase } from '../../../../testing/databases.ts';
import { temporaryFolder } from '../../../../testing/folders.ts';
import { openPostgres } from '../../store/postgres/postgres.ts';
import { openSqlite } from '../../store/sqlite/sqlite.ts';
import { insertDestination } from '../queries/destinations.ts';
import { createDestinations } from './destinations.ts';

test('what is deleted in the moment it is made is not remembered', async () => {
  const store = await openSqlite(temporaryFolder());
  try {
    const destinations = createDestinations(store);
    const first = await destinations.create('queue', 'brief', {});
    await destinations.remove(first, false, () => {});
    const created = destinations.create('queue', 'brief', {});
    // Both in one commit: the news of the deletion may come before the maker learns of its success.
    const removed = destinations.remove(first, false, () => {});
    await Promise.all([created, removed]);
    assert.equal(await destinations.find('queue', 'brief'), undefined);
  } finally {
    await store.close();
  }
});

test('a change by another node is noticed, though nobody told of it; what is in use is compared many at a time', async (t) => {
  const database = await freshDatabase();
  const store = await openPostgres(database.url);
  t.after(async () => {
    await store.close();
    await database.drop();
  });
  const statements: string[] = [];
  const destinations = createDestinations({
    ...store,
    read: (job) =>
      store.read((tx) => {
        const all: typeof tx.all = (text, values) => {
          statements.push(text);
          return tx.all(text, values);
        };
        return job({ ...tx, all });
      }),
  });
  // What is remembered is not trusted for long: however long the rest takes, that time does not come.
  const begun = performance.now();
  t.mock.method(performance, 'now', () => begun);
  const names = Array.from({ length: 50 }, (_, index) => `queue-${index}`);
  for (const name of names) await destinations.create('queue', name, {});
  const remembered = () => names.filter((name) => destinations.known('queue', name) !== undefined);
  assert.deepEqual(remembered(), names);

  await store.transaction((tx) => tx.run(`UPDATE destination SET version = version + 1 WHERE name = 'queue-7'`));
  await store.transaction((tx) => tx.run(`DELETE FROM destination WHERE name = 'queue-8'`));
  // Named as a dead-letter queue: nothing of it is written, but it is another queue now.
  const naming = { 'dead-letter': 'queue-9' };
  const fresh = {
    id: store.nextId(),
    kind: 'queue',
    name: 'naming',
    settings: naming,
    version: 1,
    created: 1,
  } as const;
  await store.transaction((tx) => insertDestination(tx, fresh));
  statements.length = 0;
  await destinations.refresh();
  assert.equal(statements.length, 1);
  assert.deepEqual(
    remembered(),
    names.filter((name) => !['queue-7', 'queue-8', 'queue-9'].includes(name)),
  );
  assert.equal((await destinations.get('queue', 'queue-9')).isDeadLetter, true);
});

test('a dead-letter queue that was named and never used is one after a restart, too', async () => {
  const folder = temporaryFolder();
  for (const isFirst of [true, false]) {
    const store = await openSqlite(folder);
    try {
      const destinations = createDestinations(store);
      if (isFirst) {
        await destinations.create('queue', 'letters', {});
        await destinations.create('queue', 'jobs', { 'dead-letter': 'letters' });
      }
      assert.equal((await destinations.get('queue', 'letters')).isDeadLetter, true);
      assert.equal((await destinations.get('queue', 'jobs')).isDeadLetter, false);
    } finally {
      await store.close();
    }
  }
});
