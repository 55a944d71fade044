/** Checkpoints without stalling commits: a thread of its own runs them, told by how much was written (see checkpoint-thread.ts). */
import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

/** A checkpoint starts when about this many pages were written since the WAL last started again. */
const PAGES = 4000;
const PAGE_BYTES = 4096;
/** Pages a small job writes: its row, its index leaves and their parents. */
const PAGES_PER_JOB = 4;

export interface CheckpointSetup {
  readonly file: string;
  readonly turnMemory: SharedArrayBuffer;
}

export interface CheckpointReport {
  readonly pagesLeft: number;
  readonly failure?: string;
}

/** Copies what can be copied at the moment. `moved`: the WAL has more room than after the last call. */
export function passiveCheckpoint(db: DatabaseSync): () => { pagesLeft: number; moved: boolean } {
  const passive = db.prepare('PRAGMA main.wal_checkpoint(PASSIVE)');
  let reached = '';
  return () => {
    const { log, checkpointed } = passive.get() as { log: number; checkpointed: number };
    const before = reached;
    reached = `${checkpointed} of ${log}`;
    return { pagesLeft: Math.max(0, log - checkpointed), moved: reached !== before };
  };
}

export interface Checkpointer {
  /** Told of every commit, of whichever thread. */
  committed(jobs: number, bytes: number): void;
  close(): Promise<void>;
}

export function createCheckpointer(setup: CheckpointSetup, onError: (error: unknown) => void): Checkpointer {
  let thread: Worker | undefined;
  let pages = 0;
  let running = false;

  function startThread(): Worker {
    const started = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), { workerData: setup });
    started.on('message', ({ pagesLeft, failure }: CheckpointReport) => {
      running = false;
      pages = pagesLeft;
      started.unref();
      if (failure !== undefined) onError(new Error(failure));
    });
    started.on('error', (error) => {
      onError(error);
      thread = undefined;
      running = false;
      pages = 0;
    });
    return started;
  }

  return {
    committed(jobs, bytes) {
      pages += jobs * PAGES_PER_JOB + bytes / PAGE_BYTES;
      if (pages <= PAGES || running) return;
      running = true;
      thread ??= startThread();
      // Others may have to wait for the thread's turn to end: it keeps the process alive until then.
      thread.ref();
      thread.postMessage('checkpoint');
    },
    async close() {
      await thread?.terminate();
    },
  };
}
