import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONSUMED, hashOfId, LEASED, READY } from '../../store.ts';
import { createForgetting } from './forgetting.ts';
import { openTables, store } from './hot.fixtures.ts';

const step = { after: 0, now: 100, kept: 1000, rememberIds: 50 };

/** Ids of what is left, in both tables. */
function left(db: ReturnType<typeof openTables>): number[] {
  const idsIn = (table: string) =>
    db
      .prepare(`SELECT id FROM ${table} ORDER BY id`)
      .all()
      .map(({ id }) => Number(id));
  const messages = idsIn('main.message');
  assert.deepEqual(idsIn('main.delivery'), messages);
  return messages;
}

test('what lies side by side is forgotten up to its due time', () => {
  const db = openTables();
  for (const id of [2, 4, 6]) store(db, { id, state: CONSUMED, due: 100 });
  store(db, { id: 8, state: CONSUMED, due: 101 });
  store(db, { id: 10, state: READY });
  assert.deepEqual(createForgetting(db)(step), { last: 1, more: false, full: false });
  assert.deepEqual(left(db), [8, 10]);
});

test('what lies between finished messages stays: of another queue, of a topic, not finished, not due', () => {
  const db = openTables();
  for (const id of [2, 10, 20]) store(db, { id, state: CONSUMED, due: 50 });
  store(db, { id: 4, dest: 2, state: CONSUMED, due: 500 });
  store(db, { id: 6, state: READY });
  store(db, { id: 8, state: CONSUMED, due: 101 });
  createForgetting(db)(step);
  assert.deepEqual(left(db), [4, 6, 8]);

  for (const id of [30, 34]) store(db, { id, state: CONSUMED, due: 50 });
  db.exec(`INSERT INTO main.message (id, dest, pos, posted, headers, body) VALUES (32, 9, 1, 1, '[]', x'00')`);
  createForgetting(db)(step);
  assert.deepEqual(
    db
      .prepare('SELECT id FROM main.message WHERE id >= 30')
      .all()
      .map(({ id }) => id),
    [32],
  );
});

test('ids that clients chose are remembered from the moment their messages are forgotten', () => {
  const db = openTables();
  const remember = db.prepare('INSERT INTO message_name (dest, hash, message, content) VALUES (1, ?, ?, ?)');
  store(db, { id: 2, state: CONSUMED, due: 50 });
  store(db, { id: 4, state: CONSUMED, due: 50, name: 'mine' });
  remember.run(hashOfId('mine'), 4, Buffer.alloc(1));
  createForgetting(db)(step);
  assert.deepEqual(left(db), []);
  assert.equal(db.prepare('SELECT forget FROM message_name').get()?.forget, 150);
});

test('of what is not due yet, so many are kept', () => {
  const db = openTables();
  for (let id = 2; id <= 20; id += 2) store(db, { id, state: CONSUMED, due: 1000 + id });
  createForgetting(db)({ ...step, kept: 3 });
  assert.deepEqual(left(db), [16, 18, 20]);
});

test('a full piece is told, and the next one takes the rest', () => {
  const db = openTables();
  for (let id = 2; id <= 1200; id += 2) store(db, { id, state: CONSUMED, due: 50 });
  const forget = createForgetting(db);
  assert.deepEqual(forget(step), { last: 1, more: false, full: true });
  assert.equal(left(db).length, 100);
  assert.deepEqual(forget(step), { last: 1, more: false, full: false });
  assert.deepEqual(left(db), []);
});

test('of a full piece most are enough: those among others that are kept come with the next, and nothing else goes', () => {
  const db = openTables();
  // From the 400th on every second one is still leased.
  const isKept = (id: number): boolean => id > 800 && id % 4 === 0;
  for (let id = 2; id <= 1400; id += 2) {
    if (isKept(id)) store(db, { id, state: LEASED, due: 50 });
    else store(db, { id, state: CONSUMED, due: 50 });
  }
  const forget = createForgetting(db);
  assert.equal(forget(step).full, true);
  assert.equal(left(db)[0], 804);
  assert.equal(forget(step).full, false);
  assert.deepEqual(left(db).filter(isKept), left(db));
  assert.equal(left(db).length, 150);
});

test('where few of a full piece lie side by side, all of it is forgotten one by one', () => {
  const db = openTables();
  for (let id = 2; id <= 2400; id += 2) store(db, { id, state: id % 4 === 0 ? LEASED : CONSUMED, due: 50 });
  const forget = createForgetting(db);
  assert.equal(forget(step).full, true);
  assert.equal(left(db).length, 700);
  assert.equal(forget(step).full, false);
  assert.equal(left(db).length, 600);
});

test('one that stood still between two pieces does not go by what it knew', () => {
  const db = openTables();
  for (let id = 2; id <= 2000; id += 2) store(db, { id, state: CONSUMED, due: 1000 + id });
  let now = 0;
  const forget = createForgetting(db, () => now);
  assert.equal(forget({ ...step, kept: 100 }).full, true);
  assert.equal(left(db).length, 500);
  // Meanwhile the newer ones went another way, and what was too much is so no longer.
  db.exec('DELETE FROM main.delivery WHERE id > 1100; DELETE FROM main.message WHERE id > 1100');
  now += 60_000;
  forget({ ...step, kept: 100 });
  assert.equal(left(db).length, 50);
});
