/**
 * Group commit. Jobs that arrive in one turn of the event loop run one after another inside one physical transaction and
 * are answered only after that transaction is on disk.
 *
 * - A job that fails is rolled back to its savepoint and does not harm its neighbours.
 * - Some errors (disk full, I/O) make SQLite roll back the whole transaction. `db.isTransaction` is the only sign of it:
 *   the group is then dead and no further job runs in it. Nobody has been answered yet and jobs are pure, so they run
 *   again, each in a transaction of its own: who only reads, or frees room, is not refused for a neighbour's sake.
 * - A group runs when it is this thread's turn at the database (see turn.ts). The hot thread has groups of its own kind (see
 *   hot/hot-group.ts).
 * - A job may await its own statements only. The guard, a `setImmediate`, fires when a job outlives its turn; the job
 *   that waits for something else is then rejected and rolled back.
 */

import { Problem } from '../../problems.ts';
import type { Dialect } from '../dialect.ts';
import type { SqlValue, Tx } from '../store.ts';
import { type Connection, explain, retrySoon } from './connection.ts';
import type { Turn } from './turn.ts';

/** Bounds of one group: enough to share a sync among all clients, not so much that the event loop stands still. */
const MAX_JOBS = 256;
const MAX_MILLISECONDS = 8;
const MAX_GROUP_BYTES = 16 * 1024 * 1024;
/** What may wait for its group. Beyond it clients are told to come back (the bodies would fill the memory). */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

interface Job {
  readonly run: (tx: Tx) => Promise<unknown>;
  readonly bytes: number;
  /** Refused while the disk's reserve is touched; what frees room or reads still runs. */
  readonly grows: boolean;
  readonly resolve: (outcome: never) => void;
  readonly reject: (error: unknown) => void;
  outcome?: unknown;
  error?: unknown;
  failed?: boolean;
}

export interface GroupCommit {
  transaction<T>(run: (tx: Tx) => Promise<T>, options?: { bytes?: number; grows?: boolean }): Promise<T>;
  /** Runs when no job is waiting any more. */
  drained(): Promise<void>;
}

export interface GroupHooks {
  readonly turn: Turn;
  /** Asked before each group: undefined, or why nothing that grows the store may run now. */
  refuseGrowth(): Problem | undefined;
  /** Told after each group how many jobs and bytes it wrote. */
  committed(jobs: number, bytes: number): void;
  /** Told when SQLite said that the disk is full. True when some room was made, so that trying again makes sense. */
  full(): boolean;
}

export interface ColdHooks extends GroupHooks {
  /** Told inside of each group's transaction, before its first job. */
  begun?(): void;
}

/** `maxMilliseconds` ends a group early, so that the event loop does not stand still. */
export function createGroupCommit(
  connection: Connection,
  dialect: Dialect,
  hooks: ColdHooks,
  maxMilliseconds = MAX_MILLISECONDS,
): GroupCommit {
  const { db } = connection;
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  const savepoint = db.prepare('SAVEPOINT job');
  const release = db.prepare('RELEASE job');
  const rollbackTo = db.prepare('ROLLBACK TO job');

  let waiting: Job[] = [];
  let waitingBytes = 0;
  let scheduled = false;
  /** So many of those who wait come from a group that died: they run one by one. */
  let alone = 0;
  const idle: (() => void)[] = [];

  /** The statements of one job. They stop working once the job is over, so that a stray promise cannot write. */
  function openTx(): { tx: Tx; close(): void; fatal(): unknown } {
    let open = true;
    let fatal: unknown;
    const attempt = <T>(statement: () => T): T => {
      if (!open) throw new Error('the transaction is over; a job must await all of its statements');
      // A job may have caught the error that ended its transaction. Outside of one, a statement would commit itself.
      if (fatal !== undefined) throw fatal;
      try {
        return statement();
      } catch (error) {
        if (!db.isTransaction) fatal = error;
        throw error;
      }
    };
    const tx: Tx = {
      dialect,
      async all<R>(text: string, values: readonly SqlValue[] = []) {
        return attempt(() => connection.all(text, values) as R[]);
      },
      async get<R>(text: string, values: readonly SqlValue[] = []) {
        return attempt(() => connection.all(text, values)[0] as R | undefined);
      },
      async run(text, values = []) {
        return attempt(() => connection.run(text, values));
      },
      async finish(text, values = []) {
        attempt(() => connection.run(text, values));
        open = false;
      },
    };
    return {
      tx,
      close() {
        open = false;
      },
      fatal: () => fatal,
    };
  }

  async function runAwaiting(job: Job): Promise<unknown> {
    const { tx, close, fatal } = openTx();
    const { promise: left, reject: leave } = Promise.withResolvers<never>();
    const guard = setImmediate(() => leave(new Error('a transaction may await its own statements only')));
    try {
      const outcome = await Promise.race([job.run(tx), left]);
      if (fatal() !== undefined) throw fatal();
      return outcome;
    } finally {
      close();
      clearImmediate(guard);
    }
  }

  /** Runs what waits, within the bounds of a group, and notes in `jobs` what it started. */
  async function runGroup(jobs: Job[]): Promise<void> {
    const started = performance.now();
    const refusal = hooks.refuseGrowth();
    let bytes = 0;
    begin.run();
    hooks.begun?.();
    while (
      jobs.length < Math.min(waiting.length, alone > 0 ? 1 : MAX_JOBS) &&
      bytes < MAX_GROUP_BYTES &&
      (jobs.length === 0 || performance.now() - started < maxMilliseconds)
    ) {
      const job = waiting[jobs.length] as Job;
      jobs.push(job);
      bytes += job.bytes;
      if (job.grows && refusal !== undefined) {
        job.failed = true;
        job.error = refusal;
      } else await runJob(job);
    }
  }

  async function runJob(job: Job): Promise<void> {
    savepoint.run();
    try {
      job.outcome = await runAwaiting(job);
      release.run();
    } catch (error) {
      job.failed = true;
      job.error = error;
      if (!db.isTransaction) throw error;
      rollbackTo.run();
      release.run();
    }
  }

  /** Whether the jobs of a group that died are to run again, one by one. */
  function triesAgain(jobs: readonly Job[], failure: unknown): boolean {
    const madeRoom = failure instanceof Problem && failure.code === 'storage-full' && hooks.full();
    if (jobs.length < 2 && !madeRoom) return false;
    for (const job of jobs) {
      job.failed = false;
      job.outcome = undefined;
      job.error = undefined;
    }
    alone = Math.max(alone, jobs.length);
    return true;
  }

  async function flush(): Promise<void> {
    const jobs: Job[] = [];
    let failure: unknown;
    const waitForTurn = hooks.turn.take();
    if (waitForTurn !== undefined) await waitForTurn;
    try {
      await runGroup(jobs);
      commit.run();
    } catch (error) {
      failure = explain(error);
      if (db.isTransaction) rollback.run();
      if (triesAgain(jobs, failure)) {
        setImmediate(flush);
        return;
      }
      // Not even begun: whoever waits is told, rather than left waiting for a store that does not answer.
      if (jobs.length === 0) jobs.push(...waiting.slice(0, MAX_JOBS));
    } finally {
      hooks.turn.give();
    }
    alone = Math.max(0, alone - jobs.length);
    let bytes = 0;
    for (const job of jobs) bytes += job.bytes;
    waiting = waiting.slice(jobs.length);
    waitingBytes -= bytes;
    if (failure === undefined) hooks.committed(jobs.length, bytes);
    for (const job of jobs) {
      if (failure !== undefined) job.reject(failure);
      else if (job.failed) job.reject(explain(job.error));
      else job.resolve(job.outcome as never);
    }
    if (waiting.length > 0) setImmediate(flush);
    else {
      scheduled = false;
      for (const resolve of idle.splice(0)) resolve();
    }
  }

  return {
    transaction<T>(run: (tx: Tx) => Promise<T>, { bytes = 0, grows = false } = {}) {
      if (waitingBytes > 0 && waitingBytes + bytes > MAX_WAITING_BYTES) {
        return Promise.reject(new Problem('busy', 'too much is waiting to be written', retrySoon));
      }
      waitingBytes += bytes;
      return new Promise<T>((resolve, reject) => {
        waiting.push({ run, bytes, grows, resolve, reject });
        if (!scheduled) {
          scheduled = true;
          setImmediate(flush);
        }
      });
    },
    drained: () => (scheduled ? new Promise((resolve) => idle.push(resolve)) : Promise.resolve()),
  };
}
