import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, test } from 'node:test';
import { type Chains, createChains } from './chains.ts';

let db: DatabaseSync;
let chains: Chains;

beforeEach(() => {
  db = new DatabaseSync(':memory:');
  db.exec('CREATE TABLE once_chain (chain INTEGER PRIMARY KEY, n INTEGER NOT NULL, expires INTEGER NOT NULL)');
  chains = createChains(db);
});

const use = (n: number, { chain = 7, expires = 100 } = {}): boolean => chains.use({ chain, n, expires });
const stored = (): unknown[] =>
  db
    .prepare('SELECT chain, n, expires FROM once_chain ORDER BY chain')
    .all()
    .map(({ chain, n, expires }) => [chain, n, expires]);

test('each link can be used once, and in its order', () => {
  assert.equal(use(1), true);
  assert.equal(use(1), false);
  assert.equal(use(2), true);
  assert.equal(use(3), true);
  assert.equal(use(2), false);
  assert.equal(use(3), false);
  assert.equal(use(5), false, 'nobody was given this one');
  chains.flush();
  assert.deepEqual(stored(), [[7, 3, 100]]);
});

test('the uses of many chains are written together, the last of each counts', () => {
  for (let chain = 0; chain < 200; chain++) use(1, { chain });
  for (let n = 2; n <= 4; n++) for (let chain = 0; chain < 200; chain++) assert.equal(use(n, { chain }), true);
  chains.flush();
  assert.deepEqual(
    stored(),
    Array.from({ length: 200 }, (_, chain) => [chain, 4, 100]),
  );
});

test('a later end of the remembering is noted', () => {
  use(1);
  use(2, { expires: 200 });
  use(3, { expires: 150 });
  chains.flush();
  assert.deepEqual(stored(), [[7, 3, 200]]);
});

test('what was rolled back can be used again, and what others used cannot', () => {
  use(1);
  chains.flush();
  db.exec('BEGIN');
  assert.equal(use(2), true);
  assert.equal(use(3), true);
  chains.flush();
  db.exec('ROLLBACK');
  chains.forget();
  assert.equal(use(2), true);
  chains.flush();
  db.exec('UPDATE once_chain SET n = 3');
  chains.forget();
  assert.equal(use(3), false);
  assert.equal(use(4), true);
  assert.equal(use(5), true);
  chains.forget();
  assert.equal(use(5), true, 'it was put off and never written');
});

test('more chains than are remembered', () => {
  for (const n of [1, 2]) for (let chain = 0; chain < 5000; chain++) assert.equal(use(n, { chain }), true);
  for (let chain = 0; chain < 5000; chain++) assert.equal(use(2, { chain }), false);
  chains.flush();
  assert.equal(stored().length, 5000);
});
