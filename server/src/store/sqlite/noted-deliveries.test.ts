import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { beforeEach, test } from 'node:test';
import { openTables } from './hot/hot.fixtures.ts';
import { createNotedDeliveries, type NotedDeliveries } from './noted-deliveries.ts';

let db: DatabaseSync;
let noted: NotedDeliveries;

beforeEach(() => {
  db = openTables();
  noted = createNotedDeliveries(db);
});

const delivery = (id: number, dest = 1): (number | null)[] => [id, dest, 5, id + 100, 0, null, null, 3];
const entered = (): unknown[] =>
  db
    .prepare('SELECT id FROM main.delivery ORDER BY id')
    .all()
    .map(({ id }) => id);

test('what is noted is entered once, with all its values', () => {
  const large = 2 ** 52;
  noted.note([...delivery(2), ...delivery(large, 7)]);
  noted.note([4, 3, 0, 104, 2, 5000, 6000, 9]);
  assert.equal(noted.count(), 3);
  assert.deepEqual(entered(), []);
  noted.enter();
  noted.enter();
  assert.equal(noted.count(), 0);
  const rows = db
    .prepare('SELECT id, dest, rank, ord, state, due, expires, size, tries, token, tx FROM main.delivery ORDER BY id')
    .all()
    .map((row) => Object.values(row));
  assert.deepEqual(rows, [
    [2, 1, 5, 102, 0, null, null, 3, 0, 0, null],
    [4, 3, 0, 104, 2, 5000, 6000, 9, 0, 0, null],
    [large, 7, 5, large + 100, 0, null, null, 3, 0, 0, null],
  ]);
});

test('more than fit into one statement are entered all', () => {
  const ids = Array.from({ length: 333 }, (_, index) => 2 * index + 2);
  noted.note(ids.flatMap((id) => delivery(id)));
  noted.enter();
  assert.deepEqual(entered(), ids);
});

test('what another connection noted is found after forgetting what was known', () => {
  assert.equal(noted.count(), 0);
  createNotedDeliveries(db).note(delivery(2));
  noted.forget();
  assert.equal(noted.count(), 1);
  noted.enter();
  assert.deepEqual(entered(), [2]);
});

test('should entering fail, all stays as it was once the transaction is given up', () => {
  noted.note(delivery(2));
  noted.note([...delivery(4), ...delivery(6)]);
  db.prepare(
    'INSERT INTO main.delivery (id, dest, rank, ord, state, tries, token, size) VALUES (6, 1, 5, 1, 0, 0, 0, 1)',
  ).run();
  db.exec('BEGIN');
  assert.throws(() => noted.enter(), /UNIQUE/);
  db.exec('ROLLBACK');
  noted.forget();
  assert.equal(noted.count(), 3);
  assert.deepEqual(entered(), [6]);
  db.exec('DELETE FROM main.delivery');
  noted.enter();
  assert.deepEqual(entered(), [2, 4, 6]);
});
