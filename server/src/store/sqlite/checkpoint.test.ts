import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { eventually } from '../../../../testing/eventually.ts';
import { temporaryFolder } from '../../../../testing/folders.ts';
import { createCheckpointer } from './checkpoint.ts';
import { createTurn, createTurnMemory } from './turn.ts';

/** Enough written for a checkpoint. */
const MUCH = 100 * 1024 * 1024;

test('a database that cannot be opened is told, holds up nobody, and is tried again', async () => {
  const folder = join(temporaryFolder(), 'not yet there');
  const turnMemory = createTurnMemory();
  const turn = createTurn(turnMemory);
  const errors: unknown[] = [];
  const checkpointer = createCheckpointer({ file: join(folder, 'waypost.db'), turnMemory }, (error) =>
    errors.push(error),
  );
  checkpointer.committed(1, MUCH);
  await eventually('the failure is told', () => errors.length === 1);
  assert.equal(turn.take(), undefined, 'the turn is free');
  mkdirSync(folder);
  const db = new DatabaseSync(join(folder, 'waypost.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a)');
  turn.give();
  checkpointer.committed(1, MUCH);
  await eventually('the WAL is copied', () => {
    const { log, checkpointed } = db.prepare('PRAGMA wal_checkpoint(NOOP)').get() as {
      log: number;
      checkpointed: number;
    };
    return log === checkpointed;
  });
  assert.equal(errors.length, 1);
  await checkpointer.close();
  db.close();
});
