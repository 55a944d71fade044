import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../../../testing/folders.ts';
import { openSqlite } from '../../store/sqlite/sqlite.ts';
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
