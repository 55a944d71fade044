/**
 * Checkpoints without stalling commits. A worker copies the WAL into the database on a connection of its own; it can
 * never catch the last frames while commits go on, so the writer takes the small rest between two groups, after which the
 * WAL starts again from its beginning.
 */

import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

/** A checkpoint starts when about this many pages were written since the WAL last started again. */
const PAGES = 4000;
const PAGE_BYTES = 4096;
/** Pages a small job writes: its row, its index leaves and their parents. */
const PAGES_PER_JOB = 4;

export interface Checkpointer {
  committed(jobs: number, bytes: number): void;
  /** Runs a checkpoint at once, outside of any transaction. True when it moved something: the WAL has room again. */
  now(): boolean;
  close(): Promise<void>;
}

export function createCheckpointer(file: string, db: DatabaseSync, onError: (error: unknown) => void): Checkpointer {
  const passive = db.prepare('PRAGMA main.wal_checkpoint(PASSIVE)');
  let worker: Worker | undefined;
  let pages = 0;
  let running = false;
  let reached = '';

  function checkpoint(): boolean {
    const { log, checkpointed } = passive.get() as { log: number; checkpointed: number };
    pages = Math.max(0, log - checkpointed);
    const before = reached;
    reached = `${checkpointed} of ${log}`;
    return reached !== before;
  }

  /** Takes what the worker left over. Runs between groups, in a turn of its own. */
  function finish(): void {
    running = false;
    try {
      checkpoint();
    } catch (error) {
      onError(error);
    }
  }

  function start(): void {
    running = true;
    if (worker === undefined) {
      worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), { workerData: file });
      worker.on('message', (failure: string | null) => {
        if (failure !== null) onError(new Error(failure));
        finish();
      });
      worker.on('error', (error) => {
        onError(error);
        worker = undefined;
        running = false;
      });
      worker.unref();
    }
    worker.postMessage('checkpoint');
  }

  return {
    committed(jobs, bytes) {
      pages += jobs * PAGES_PER_JOB + bytes / PAGE_BYTES;
      if (pages > PAGES && !running) start();
    },
    now() {
      try {
        return checkpoint();
      } catch {
        return false;
      }
    },
    async close() {
      await worker?.terminate();
    },
  };
}
