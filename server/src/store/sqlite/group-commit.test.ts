import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { temporaryFolder } from '../../../../testing/folders.ts';
import { Problem } from '../../problems.ts';
import type { Tx } from '../store.ts';
import { createConnection } from './connection.ts';
import { sqliteDialect } from './dialect.ts';
import { type ColdHooks, createGroupCommit, type GroupCommit } from './group-commit.ts';
import { createTurn, createTurnMemory } from './turn.ts';

const KIB = 1024;

let db: DatabaseSync;
/** Another connection to the same file: it sees what is committed and nothing else. */
let observer: DatabaseSync;
let group: GroupCommit;
let groups: number[];
let full: number;
let hooks: ColdHooks;

beforeEach(() => {
  const file = join(temporaryFolder(), 'group.db');
  db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE, body BLOB);
    CREATE TABLE part (item INTEGER REFERENCES item (id) DEFERRABLE INITIALLY DEFERRED)`);
  observer = new DatabaseSync(file);
  groups = [];
  full = 0;
  hooks = {
    turn: createTurn(createTurnMemory()),
    refuseGrowth: () => undefined,
    committed: (jobs) => void groups.push(jobs),
    full: () => {
      full += 1;
      return false;
    },
  };
  group = createGroupCommit(
    createConnection(db),
    sqliteDialect('0'),
    {
      turn: hooks.turn,
      refuseGrowth: () => hooks.refuseGrowth(),
      committed: (jobs, bytes) => hooks.committed(jobs, bytes),
      full: () => hooks.full(),
      begun: () => hooks.begun?.(),
    },
    Number.POSITIVE_INFINITY,
  );
});

afterEach(() => {
  observer.close();
  db.close();
});

const stored = (): number[] =>
  observer
    .prepare('SELECT id FROM item ORDER BY id')
    .all()
    .map(({ id }) => Number(id));

const insert = (id: number, more: { name?: string; body?: Buffer } = {}) =>
  group.transaction(async (tx) => {
    await add(tx, id, more);
    return id;
  });

function add(tx: Tx, id: number, { name, body }: { name?: string; body?: Buffer } = {}): Promise<number> {
  return tx.run('INSERT INTO item (id, name, body) VALUES ($1, $2, $3)', [id, name ?? null, body ?? null]);
}

const isProblem = (code: string) => (error: unknown) => error instanceof Problem && error.code === code;

/** The outcome of each job: 'done', or what it was refused for. */
async function outcomes(jobs: Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(jobs);
  return settled.map((each) => {
    if (each.status === 'fulfilled') return 'done';
    return each.reason instanceof Problem ? each.reason.code : (each.reason as Error).message;
  });
}

test('jobs that arrive together share a commit, which is there when they are answered', async () => {
  const seen = await Promise.all([1, 2, 3].map((id) => insert(id).then(() => stored())));
  assert.deepEqual(seen, [
    [1, 2, 3],
    [1, 2, 3],
    [1, 2, 3],
  ]);
  assert.deepEqual(groups, [3]);
});

test('an error of one job undoes that job alone', async () => {
  const failing = group.transaction(async (tx) => {
    await add(tx, 2);
    throw new Problem('conflict', 'not like this');
  });
  assert.deepEqual(await outcomes([insert(1), failing, insert(3)]), ['done', 'conflict', 'done']);
  assert.deepEqual(stored(), [1, 3]);
  assert.deepEqual(groups, [3]);
});

test('a value that is there already undoes that job alone', async () => {
  const twice = () =>
    group.transaction(async (tx) => {
      await add(tx, 2);
      await add(tx, 3, { name: 'same' });
    });
  const [first, second, third] = await outcomes([insert(1, { name: 'same' }), twice(), insert(4)]);
  assert.deepEqual([first, third], ['done', 'done']);
  assert.match(second ?? '', /UNIQUE/);
  assert.deepEqual(stored(), [1, 4]);
});

test('jobs that wait for something else are undone, however many of them share a group', async () => {
  const impatient = [10, 11, 12].map((id) =>
    group.transaction(async (tx) => {
      await add(tx, id);
      await pause(60_000, undefined, { ref: false });
    }),
  );
  const all = await outcomes([insert(1), ...impatient, insert(2)]);
  assert.deepEqual([all[0], all.at(-1)], ['done', 'done']);
  for (const outcome of all.slice(1, -1)) assert.match(outcome, /may await its own statements only/);
  assert.deepEqual(stored(), [1, 2]);
});

test('a transaction in a transaction is undone and does not block the store', async () => {
  const outer = group.transaction(async (tx) => {
    await add(tx, 1);
    await insert(2);
  });
  await assert.rejects(outer, /may await its own statements only/);
  await insert(3);
  // The inner one was a transaction of its own.
  assert.deepEqual(stored(), [2, 3]);
});

test('a job that is over cannot write any more', async () => {
  const { promise: late, resolve: proceed } = Promise.withResolvers<void>();
  const { promise: refused, resolve: report } = Promise.withResolvers<unknown>();
  const job = group.transaction(async (tx) => {
    await add(tx, 1);
    late.then(() => add(tx, 2)).catch(report);
  });
  await job;
  proceed();
  assert.match(String(await refused), /the transaction is over/);
  await insert(3);
  assert.deepEqual(stored(), [1, 3]);
});

test('a statement that a job forgot to await writes nothing after its end', async () => {
  const impatient = group.transaction(async (tx) => {
    const write = pause(5).then(() => add(tx, 1));
    write.catch(() => {});
    await write;
  });
  await assert.rejects(impatient);
  await pause(20);
  await insert(2);
  assert.deepEqual(stored(), [2]);
});

test('a full disk in the middle of a group: what is answered is stored, what is refused is not', async () => {
  await insert(1000);
  limitPages(40);
  const jobs = Array.from({ length: 60 }, (_, id) => insert(id, { body: Buffer.alloc(8 * KIB, id) }));
  const all = await outcomes(jobs);
  const done = all.flatMap((outcome, id) => (outcome === 'done' ? [id] : []));
  assert.ok(done.length > 0 && done.length < 60, `${done.length} of 60 were stored`);
  assert.deepEqual(stored(), [...done, 1000]);
  assert.deepEqual(new Set(all), new Set(['done', 'storage-full']));
  assert.ok(full > 0);

  db.exec('PRAGMA max_page_count = 1000000');
  await Promise.all(Array.from({ length: 10 }, (_, id) => insert(2000 + id, { body: Buffer.alloc(8 * KIB) })));
  assert.equal(stored().length, done.length + 11);
  assert.equal(db.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok');
});

test('who only reads is not refused because the disk is full for its neighbours', async () => {
  await insert(1);
  limitPages(0);
  const read = () => group.transaction((tx) => tx.get('SELECT id FROM item'));
  const remove = () => group.transaction((tx) => tx.run('DELETE FROM item WHERE id = 1'));
  const large = () => insert(2, { body: Buffer.alloc(64 * KIB) });
  assert.deepEqual(await outcomes([large(), read(), large(), remove(), read()]), [
    'storage-full',
    'done',
    'storage-full',
    'done',
    'done',
  ]);
  assert.deepEqual(stored(), []);
});

test('what was given up to make room is used at once', async () => {
  await insert(1);
  limitPages(0);
  hooks.full = () => {
    full += 1;
    if (full > 1) return false;
    db.exec('PRAGMA max_page_count = 1000000');
    return true;
  };
  await insert(2, { body: Buffer.alloc(64 * KIB) });
  assert.deepEqual(stored(), [1, 2]);
});

test('what comes before the jobs has the room that was made, too', async () => {
  await insert(1);
  limitPages(0);
  const add = db.prepare('INSERT OR REPLACE INTO item (id, body) VALUES (7, ?)');
  hooks.begun = () => void add.run(Buffer.alloc(64 * KIB));
  const read = () => group.transaction((tx) => tx.get('SELECT id FROM item'));
  assert.deepEqual(await outcomes([read(), read()]), ['storage-full', 'storage-full']);
  hooks.full = () => {
    db.exec('PRAGMA max_page_count = 1000000');
    return true;
  };
  assert.deepEqual(await outcomes([read(), read()]), ['done', 'done']);
  assert.deepEqual(stored(), [1, 7]);
});

test('a job that overlooks the end of its transaction stores nothing', async () => {
  await insert(1);
  limitPages(0);
  const careless = group.transaction(async (tx) => {
    await add(tx, 2, { body: Buffer.alloc(64 * KIB) }).catch(() => {});
    // SQLite has rolled everything back by now; alone, this statement would commit itself.
    await tx.run(`UPDATE item SET name = 'changed' WHERE id = 1`);
  });
  await assert.rejects(careless, isProblem('storage-full'));
  assert.equal(observer.prepare('SELECT name FROM item WHERE id = 1').get()?.name, null);
  await group.transaction((tx) => tx.run(`UPDATE item SET name = 'later' WHERE id = 1`));
});

test('a commit that fails refuses the one at fault and stores the others', async () => {
  const orphan = group.transaction((tx) => tx.run('INSERT INTO part (item) VALUES (99)'));
  const [first, second, third] = await outcomes([insert(1), orphan, insert(2)]);
  assert.deepEqual([first, third], ['done', 'done']);
  assert.match(second ?? '', /FOREIGN KEY/);
  assert.deepEqual(stored(), [1, 2]);
  assert.equal(observer.prepare('SELECT count(*) AS count FROM part').get()?.count, 0);
});

test('what grows the store is refused while the reserve is touched, everything else runs', async () => {
  await insert(1);
  hooks.refuseGrowth = () => new Problem('storage-full', 'the reserve is touched');
  const grow = group.transaction((tx) => add(tx, 2), { grows: true });
  const shrink = group.transaction((tx) => tx.run('DELETE FROM item'));
  assert.deepEqual(await outcomes([grow, shrink]), ['storage-full', 'done']);
  assert.deepEqual(stored(), []);
});

test('a store that is locked by another refuses, and works again afterwards', async () => {
  observer.exec('BEGIN IMMEDIATE');
  await assert.rejects(insert(1), isProblem('store-unavailable'));
  observer.exec('ROLLBACK');
  await insert(2);
  assert.deepEqual(stored(), [2]);
});

/** Lets the database grow by so many pages and no further: SQLite then says what it says when the disk is full. */
function limitPages(more: number): void {
  const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number };
  db.exec(`PRAGMA max_page_count = ${pages + more}`);
}

test('a slow look at the disk keeps no job from running', async () => {
  const slow = createGroupCommit(createConnection(db), sqliteDialect('0'), {
    ...hooks,
    refuseGrowth() {
      const until = performance.now() + 20;
      while (performance.now() < until);
      return undefined;
    },
  });
  await slow.transaction((tx) => add(tx, 1));
  assert.deepEqual(stored(), [1]);
});
