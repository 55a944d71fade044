import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { createConnection } from './connection.ts';
import { sqliteDialect } from './dialect.ts';
import { createGroupCommit } from './group-commit.ts';
import { createTurn, createTurnMemory } from './turn.ts';

function open() {
  const db = new DatabaseSync(':memory:');
  db.exec('CREATE TABLE item (name TEXT PRIMARY KEY)');
  const groups: number[] = [];
  const group = createGroupCommit(
    createConnection(db),
    sqliteDialect('0'),
    {
      turn: createTurn(createTurnMemory()),
      refuseGrowth: () => undefined,
      committed: (jobs) => groups.push(jobs),
      full: () => false,
    },
    Number.POSITIVE_INFINITY,
  );
  const insert = db.prepare('INSERT INTO item (name) VALUES (?)');
  const names = () =>
    db
      .prepare('SELECT name FROM item ORDER BY name')
      .all()
      .map((row) => row.name);
  return { db, group, groups, insert, names };
}

describe('group commit', () => {
  it('runs what arrives together in one transaction', async () => {
    const { group, groups, insert, names } = open();
    await Promise.all(['a', 'b', 'c'].map((name) => group.submit(() => insert.run(name))));
    assert.deepEqual(names(), ['a', 'b', 'c']);
    // On a machine that stalls a group may end early; what matters is that nobody is left out.
    assert.equal(
      groups.reduce((sum, jobs) => sum + jobs, 0),
      3,
    );
  });

  it('a hot job that fails half-way leaves nothing and does not harm its neighbours', async () => {
    const { group, insert, names } = open();
    const outcomes = await Promise.allSettled([
      group.submit(() => insert.run('before')),
      group.transaction((tx) => tx.run(`INSERT INTO item (name) VALUES ('awaiting')`)),
      group.submit(() => {
        insert.run('half');
        insert.run('before');
      }),
      group.submit(() => insert.run('after')),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
    );
    assert.deepEqual(names(), ['after', 'awaiting', 'before']);
  });

  it('a failure in one group is forgotten in the next', async () => {
    const { group, insert, names } = open();
    await group.submit(() => insert.run('a'));
    await assert.rejects(group.submit(() => insert.run('a')));
    await group.submit(() => insert.run('b'));
    assert.deepEqual(names(), ['a', 'b']);
  });

  it('a transaction that waits for something else is rejected alone', async () => {
    const { group, insert, names } = open();
    const [stray, good] = await Promise.allSettled([
      group.transaction(async (tx) => {
        await tx.run(`INSERT INTO item (name) VALUES ('stray')`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }),
      group.submit(() => insert.run('good')),
    ]);
    assert.equal(stray.status, 'rejected');
    assert.equal(good.status, 'fulfilled');
    assert.deepEqual(names(), ['good']);
  });
});
