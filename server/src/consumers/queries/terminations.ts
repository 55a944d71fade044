/** SQL of bulk terminations that run in the background: one function per statement, the same text on both engines. */
import type { Tx } from '../../store/store.ts';
import type { BulkKind, Job, Outcome, Target } from '../bulk.ts';

interface JobRow {
  readonly id: number;
  readonly kind: BulkKind;
  readonly targets: string;
  readonly strict: number;
  readonly reason: string | null;
  readonly ordered_by: string | null;
  readonly total: number;
  readonly done: number;
  readonly created: number;
  readonly finished: number | null;
}

function toJob(row: JobRow): Job {
  const { id, kind, total, done, created, finished } = row;
  return {
    id,
    kind,
    targets: JSON.parse(row.targets) as Target[],
    strict: row.strict === 1,
    change: {
      ...(row.reason === null ? {} : { reason: row.reason }),
      ...(row.ordered_by === null ? {} : { by: row.ordered_by }),
    },
    total,
    done,
    created,
    ...(finished === null ? {} : { finished }),
  };
}

const JOB = 'SELECT id, kind, targets, strict, reason, ordered_by, total, done, created, finished FROM termination';

export async function insertJob(tx: Tx, job: Job): Promise<void> {
  const { id, kind, targets, strict, change, total, done, created } = job;
  await tx.run(
    `INSERT INTO termination (id, kind, targets, strict, reason, ordered_by, total, done, created)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [id, kind, JSON.stringify(targets), strict ? 1 : 0, change.reason ?? null, change.by ?? null, total, done, created],
  );
}

export async function findJob(tx: Tx, id: number): Promise<Job | undefined> {
  const row = await tx.get<JobRow>(`${JOB} WHERE id = $1`, [id]);
  return row && toJob(row);
}

export async function hasOpenJob(tx: Tx): Promise<boolean> {
  return (await tx.get('SELECT id FROM termination WHERE finished IS NULL ORDER BY id LIMIT 1')) !== undefined;
}

/** The oldest one that is not finished and that no other node is working on. */
export async function takeOpenJob(tx: Tx): Promise<Job | undefined> {
  const text = `${JOB} WHERE finished IS NULL ORDER BY id LIMIT 1 ${tx.dialect.skipLocked}`;
  const row = await tx.get<JobRow>(text);
  return row && toJob(row);
}

export async function writeProgress(tx: Tx, id: number, done: number, finished: number | null): Promise<void> {
  await tx.run('UPDATE termination SET done = $2, finished = $3 WHERE id = $1', [id, done, finished]);
}

export async function insertPiece(tx: Tx, job: number, first: number, outcomes: readonly Outcome[]): Promise<void> {
  await tx.run('INSERT INTO termination_piece (job, first, outcomes) VALUES ($1, $2, $3)', [
    job,
    first,
    JSON.stringify(outcomes),
  ]);
}

export async function outcomesOf(tx: Tx, job: number): Promise<Outcome[]> {
  const text = 'SELECT outcomes FROM termination_piece WHERE job = $1 ORDER BY first';
  const rows = await tx.all<{ outcomes: string }>(text, [job]);
  return rows.flatMap(({ outcomes }) => JSON.parse(outcomes) as Outcome[]);
}

const FORGOTTEN_AT_ONCE = 20;

/** Forgets jobs that were finished before; tells whether there may be more. */
export async function forgetJobs(tx: Tx, before: number): Promise<boolean> {
  const rows = await tx.all<{ id: number }>(
    `SELECT id FROM termination WHERE finished <= $1 ORDER BY finished LIMIT ${FORGOTTEN_AT_ONCE} ${tx.dialect.skipLocked}`,
    [before],
  );
  if (rows.length === 0) return false;
  const ids = tx.dialect.list(rows.map(({ id }) => id));
  await tx.run(`DELETE FROM termination_piece WHERE job ${tx.dialect.inList('$1')}`, [ids]);
  await tx.run(`DELETE FROM termination WHERE id ${tx.dialect.inList('$1')}`, [ids]);
  return rows.length === FORGOTTEN_AT_ONCE;
}
