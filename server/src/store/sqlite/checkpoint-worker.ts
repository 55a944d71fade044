import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

const db = new DatabaseSync(workerData as string);
db.exec('PRAGMA synchronous = FULL');
const passive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');

parentPort?.on('message', () => {
  let failure: string | null = null;
  try {
    passive.get();
  } catch (error) {
    failure = (error as Error).message;
  }
  parentPort?.postMessage(failure);
});
