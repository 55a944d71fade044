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
let checkpoint: ReturnType<typeof passiveCheckpoint> | undefined;

function open(): ReturnType<typeof passiveCheckpoint> {
  const db = new DatabaseSync(file);
  db.exec('PRAGMA synchronous = FULL');
  return passiveCheckpoint(db);
}

function inTurn<T>(work: () => T): T {
  turn.take();
  try {
    return work();
  } finally {
    turn.give();
  }
}

function takeAll(): CheckpointReport {
  try {
    // In a turn: others may be at the database, and opening it looks at it. Should it fail, the next time may be better.
    checkpoint ??= inTurn(open);
    checkpoint();
    return { pagesLeft: inTurn(checkpoint).pagesLeft };
  } catch (error) {
    return { pagesLeft: 0, failure: (error as Error).message };
  }
}

parentPort?.on('message', () => parentPort?.postMessage(takeAll()));
