/**
 * Copies the WAL into the database. While others commit, the last frames are never caught; so what has come meanwhile is
 * taken in a turn, and the WAL starts again from its beginning.
 */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { type CheckpointReport, type CheckpointSetup, passiveCheckpoint } from './checkpoint.ts';
import { createBlockingTurn } from './turn.ts';

const { file, turnMemory } = workerData as CheckpointSetup;
const turn = createBlockingTurn(turnMemory);
// Others may be at the database, and opening it looks at it.
turn.take();
const db = new DatabaseSync(file);
db.exec('PRAGMA synchronous = FULL');
const checkpoint = passiveCheckpoint(db);
turn.give();

function takeAll(): CheckpointReport {
  try {
    checkpoint();
    turn.take();
    try {
      return { pagesLeft: checkpoint().pagesLeft };
    } finally {
      turn.give();
    }
  } catch (error) {
    return { pagesLeft: 0, failure: (error as Error).message };
  }
}

parentPort?.on('message', () => parentPort?.postMessage(takeAll()));
