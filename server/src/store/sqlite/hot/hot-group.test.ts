import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, test } from 'node:test';
import { temporaryFolder } from '../../../../../testing/folders.ts';
import { Problem } from '../../../problems.ts';
import { createBlockingTurn, createTurnMemory } from '../turn.ts';
import { createHotGroup, type HotHooks, type HotJob, hotJob, type WriteBehind } from './hot-group.ts';

const KIB = 1024;

let db: DatabaseSync;
/** Another connection to the same file: it sees what is committed and nothing else. */
let observer: DatabaseSync;
let hooks: HotHooks;
let groups: number[];
let run: (jobs: readonly HotJob[]) => void;

beforeEach(() => {
  const file = join(temporaryFolder(), 'group.db');
  db = new DatabaseSync(file);
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE, body BLOB)');
  observer = new DatabaseSync(file);
  groups = [];
  hooks = {
    turn: createBlockingTurn(createTurnMemory()),
    refuseGrowth: () => undefined,
    committed: (jobs) => void groups.push(jobs),
    full: () => false,
    undone: () => {},
  };
  run = createHotGroup(db, {
    turn: hooks.turn,
    refuseGrowth: () => hooks.refuseGrowth(),
    committed: (jobs, bytes) => hooks.committed(jobs, bytes),
    full: () => hooks.full(),
    undone: () => hooks.undone(),
  });
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

const add = (id: number, name: string | null = null, body: Uint8Array | null = null): void =>
  void db.prepare('INSERT INTO item (id, name, body) VALUES (?, ?, ?)').run(id, name, body);

function insert(id: number, { name, bytes }: { name?: string; bytes?: number } = {}): HotJob {
  return hotJob(
    () => {
      add(id, name, bytes === undefined ? null : Buffer.alloc(bytes));
      return id;
    },
    { grows: true, bytes: 10 },
  );
}

const remove = (id: number): HotJob =>
  hotJob(() => Number(db.prepare('DELETE FROM item WHERE id = ?').run(id).changes));

/** The outcome of each job, or what it was refused for. */
function outcomes(jobs: readonly HotJob[]): unknown[] {
  run(jobs);
  return jobs.map(({ outcome, error }) => {
    if (error === undefined) return outcome;
    return error instanceof Problem ? error.code : 'error';
  });
}

/** Rows that are written when they are flushed. */
function putOff(): WriteBehind & { readonly rows: [number, string][] } {
  const rows: [number, string][] = [];
  return {
    rows,
    flush() {
      for (const [id, name] of rows.splice(0)) add(id, name);
    },
    discard: () => void rows.splice(0),
  };
}

test('jobs share a commit', () => {
  assert.deepEqual(outcomes([insert(1), insert(2), insert(3)]), [1, 2, 3]);
  assert.deepEqual(stored(), [1, 2, 3]);
  assert.deepEqual(groups, [3]);
});

test('a job that fails half-way leaves nothing and does not harm its neighbours', () => {
  const half = hotJob(() => {
    add(2);
    add(1);
  });
  assert.deepEqual(outcomes([insert(1), half, insert(3)]), [1, 'error', 3]);
  assert.deepEqual(stored(), [1, 3]);
  assert.deepEqual(outcomes([insert(2)]), [2]);
});

test('whoever remembers what was written is told when it is undone', () => {
  let undone = 0;
  hooks = { ...hooks, undone: () => undone++ };
  const fails = hotJob(() => add(1));
  outcomes([insert(1), insert(2)]);
  assert.equal(undone, 0);
  assert.deepEqual(outcomes([insert(3), fails, insert(4)]), [3, 'error', 4]);
  assert.equal(undone, 2, 'once for the group, once for the one at fault');
});

test('what is put off is written before a job of another kind and before the commit', () => {
  const behind = putOff();
  const later = (id: number) => hotJob(() => void behind.rows.push([id, `name ${id}`]), { behind });
  const count = hotJob(() => db.prepare('SELECT count(*) AS count FROM item').get()?.count);
  assert.deepEqual(outcomes([later(1), later(2), count, later(3)]), [undefined, undefined, 2, undefined]);
  assert.deepEqual(stored(), [1, 2, 3]);
});

test('what is put off and cannot be written refuses the one at fault', () => {
  const behind = putOff();
  const later = (id: number, name: string) => hotJob(() => void behind.rows.push([id, name]), { behind });
  assert.deepEqual(outcomes([later(1, 'a'), later(2, 'a'), later(3, 'b'), insert(4)]), [
    undefined,
    'error',
    undefined,
    4,
  ]);
  assert.deepEqual(stored(), [1, 3, 4]);
  assert.deepEqual(behind.rows, []);
});

test('a full disk in the middle of a group: what is answered is stored, what is refused is not', () => {
  outcomes([insert(1000)]);
  limitPages(40);
  const all = outcomes(Array.from({ length: 60 }, (_, id) => insert(id, { bytes: 8 * KIB })));
  const done = all.filter((outcome) => typeof outcome === 'number');
  assert.ok(done.length > 0 && done.length < 60, `${done.length} of 60 were stored`);
  assert.deepEqual(stored(), [...done, 1000]);
  assert.deepEqual(new Set(all.filter((outcome) => typeof outcome !== 'number')), new Set(['storage-full']));
  limitPages(1_000_000);
  assert.deepEqual(outcomes([insert(2000, { bytes: 64 * KIB })]), [2000]);
  assert.equal(db.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok');
});

test('who frees room is not refused because the disk is full for its neighbours', () => {
  outcomes([insert(1)]);
  limitPages(0);
  assert.deepEqual(outcomes([insert(2, { bytes: 64 * KIB }), remove(1), insert(3, { bytes: 64 * KIB })]), [
    'storage-full',
    1,
    'storage-full',
  ]);
  assert.deepEqual(stored(), []);
});

test('room that was made is used at once', () => {
  outcomes([insert(1)]);
  limitPages(0);
  hooks.full = () => {
    limitPages(1_000_000);
    hooks.full = () => false;
    return true;
  };
  assert.deepEqual(outcomes([insert(2, { bytes: 64 * KIB })]), [2]);
  assert.deepEqual(stored(), [1, 2]);
});

test('what grows the store is refused while the reserve is touched, everything else runs', () => {
  outcomes([insert(1)]);
  hooks.refuseGrowth = () => new Problem('storage-full', 'the reserve is touched');
  assert.deepEqual(outcomes([insert(2), remove(1)]), ['storage-full', 1]);
  assert.deepEqual(stored(), []);
});

test('a store that is locked by another refuses, and works again afterwards', () => {
  observer.exec('BEGIN IMMEDIATE');
  assert.deepEqual(outcomes([insert(1), insert(2)]), ['store-unavailable', 'store-unavailable']);
  observer.exec('ROLLBACK');
  assert.deepEqual(outcomes([insert(3)]), [3]);
  assert.deepEqual(stored(), [3]);
});

/** Lets the database grow by so many pages and no further: SQLite then says what it says when the disk is full. */
function limitPages(more: number): void {
  const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number };
  db.exec(`PRAGMA max_page_count = ${pages + more}`);
}
