/**
 * Group commit of the hot thread: calls that are there together run one after another inside one transaction, and are
 * answered after it is on disk. The rules are those of ../group-commit.ts, whose jobs await their statements; nothing
 * here waits for anything but the disk and the turn.
 *
 * - Jobs hardly ever fail, and a savepoint makes SQLite copy every page that its job touches: they run without, and should
 *   one of them fail the group is rolled back and run again with a savepoint for each (jobs are pure).
 * - Some errors (disk full, I/O) make SQLite roll back the whole transaction; `db.isTransaction` is the only sign of it.
 *   The jobs then run again, each in a transaction of its own: who frees room is not refused for a neighbour's sake.
 * - Jobs may put off what they write: it is written before a job of another kind runs and before the commit.
 */
import type { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../../problems.ts';
import { explain } from '../connection.ts';
import type { GroupHooks } from '../group-commit.ts';
import type { BlockingTurn } from '../turn.ts';

/** What jobs have put off writing, so that many rows are written together. */
export interface WriteBehind {
  /** Writes it. Empty afterwards, also when it throws. */
  flush(): void;
  /** Forgets it: the transaction was rolled back. */
  discard(): void;
}

export interface HotJob<Outcome = unknown> {
  readonly run: () => Outcome;
  /** About what it writes. */
  readonly bytes: number;
  /** Refused while the disk's reserve is touched; what frees room or reads still runs. */
  readonly grows: boolean;
  /** Where it puts what it writes later. */
  readonly behind: WriteBehind | undefined;
  /** Good when the group is done: either of them. */
  outcome: Outcome | undefined;
  error: unknown;
}

export const hotJob = <Outcome>(
  run: () => Outcome,
  { bytes = 0, grows = false, behind }: { bytes?: number; grows?: boolean; behind?: WriteBehind } = {},
): HotJob<Outcome> => ({ run, bytes, grows, behind, outcome: undefined, error: undefined });

export interface HotHooks extends GroupHooks {
  readonly turn: BlockingTurn;
  /** Told when something that was written is gone again: what jobs remember of it no longer holds. */
  undone(): void;
}

/** Runs the jobs and notes the outcome or the error of each. */
export function createHotGroup(db: DatabaseSync, hooks: HotHooks): (jobs: readonly HotJob[]) => void {
  // Not IMMEDIATE: with a turn nobody else writes, and what touches one of the two databases need not lock both.
  const begin = db.prepare('BEGIN');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  const savepoint = db.prepare('SAVEPOINT job');
  const release = db.prepare('RELEASE job');
  const rollbackTo = db.prepare('ROLLBACK TO job');

  /** False: something failed, and nothing may stay. */
  function runTogether(jobs: readonly HotJob[], refusal: Problem | undefined): boolean {
    let behind: WriteBehind | undefined;
    try {
      for (const job of jobs) {
        if (job.behind !== behind) {
          behind?.flush();
          behind = job.behind;
        }
        if (job.grows && refusal !== undefined) job.error = refusal;
        else job.outcome = job.run();
      }
      behind?.flush();
      return true;
    } catch (error) {
      behind?.discard();
      if (!db.isTransaction) throw error;
      return false;
    }
  }

  function runGuarded(jobs: readonly HotJob[], refusal: Problem | undefined): void {
    for (const job of jobs) {
      job.error = job.grows ? refusal : undefined;
      if (job.error !== undefined) continue;
      savepoint.run();
      try {
        job.outcome = job.run();
        job.behind?.flush();
        release.run();
      } catch (error) {
        job.behind?.discard();
        if (!db.isTransaction) throw error;
        job.error = explain(error);
        rollbackTo.run();
        release.run();
        hooks.undone();
      }
    }
  }

  /** One transaction. Undefined, or why nothing of it was stored; `again`: some room was made, trying again makes sense. */
  function attempt(jobs: readonly HotJob[]): { readonly failure: unknown; readonly again: boolean } | undefined {
    hooks.turn.take();
    try {
      const refusal = hooks.refuseGrowth();
      begin.run();
      if (!runTogether(jobs, refusal)) {
        rollback.run();
        hooks.undone();
        begin.run();
        runGuarded(jobs, refusal);
      }
      commit.run();
      return undefined;
    } catch (error) {
      if (db.isTransaction) rollback.run();
      hooks.undone();
      const failure = explain(error);
      return { failure, again: failure instanceof Problem && failure.code === 'storage-full' && hooks.full() };
    } finally {
      hooks.turn.give();
    }
  }

  function tellCommitted(jobs: readonly HotJob[]): void {
    let bytes = 0;
    for (const job of jobs) bytes += job.bytes;
    hooks.committed(jobs.length, bytes);
  }

  function runAlone(job: HotJob): void {
    for (;;) {
      job.error = undefined;
      const failed = attempt([job]);
      if (failed === undefined) {
        tellCommitted([job]);
        return;
      }
      job.error = failed.failure;
      if (!failed.again) return;
    }
  }

  return (jobs) => {
    const failed = attempt(jobs);
    if (failed === undefined) tellCommitted(jobs);
    else if (jobs.length > 1 || failed.again) for (const job of jobs) runAlone(job);
    else for (const job of jobs) job.error = failed.failure;
  };
}
