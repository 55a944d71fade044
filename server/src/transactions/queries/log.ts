/** SQL of the coordinator's log: one function per statement, the same text on both engines. */
import type { Page } from '../../http/paging.ts';
import { Problem } from '../../problems.ts';
import type { Tx } from '../../store/store.ts';
import { type ParticipantState, TRIES_BEFORE_NOTICE, type TransactionState } from '../protocol.ts';
import { MAX_PARTICIPANTS, type Participant, type Resolution, type Transaction } from '../transaction.ts';

const TRANSACTION = 'SELECT id, state, timeout, created, deadline, decided, finished, reason, owner, epoch FROM txn';

export async function insertTransaction(
  tx: Tx,
  { id, timeout, created, deadline }: Pick<Transaction, 'id' | 'timeout' | 'created' | 'deadline'>,
): Promise<void> {
  await tx.run(
    `INSERT INTO txn (id, state, timeout, created, deadline, epoch) VALUES ($1, 'uncommitted', $2, $3, $4, 0)`,
    [id, timeout, created, deadline],
  );
}

export async function findTransaction(tx: Tx, id: number): Promise<Transaction | undefined> {
  return tx.get<Transaction>(`${TRANSACTION} WHERE id = $1`, [id]);
}

/** Keeps its state from changing until the transaction ends; several may hold it so at once. */
export async function shareTransaction(tx: Tx, id: number): Promise<Transaction | undefined> {
  return tx.get<Transaction>(`${TRANSACTION} WHERE id = $1 ${tx.dialect.forShare}`, [id]);
}

export async function lockTransaction(tx: Tx, id: number): Promise<Transaction | undefined> {
  return tx.get<Transaction>(`${TRANSACTION} WHERE id = $1 ${tx.dialect.forUpdate}`, [id]);
}

/** Those of these transactions of which nothing is decided. */
export async function stillPreparing(tx: Tx, ids: readonly number[]): Promise<number[]> {
  const text = `SELECT id FROM txn WHERE state = 'preparing' AND id ${tx.dialect.inList('$1')}`;
  return (await tx.all<{ id: number }>(text, [tx.dialect.list(ids)])).map(({ id }) => id);
}

/** Newest first. */
export async function listTransactions(
  tx: Tx,
  page: Page,
  state: TransactionState | undefined,
): Promise<Transaction[]> {
  const [comparison, order] = page.backwards ? ['>', 'ASC'] : ['<', 'DESC'];
  const start = page.key === undefined ? Number.MAX_SAFE_INTEGER : Number(page.key) || 0;
  if (state === undefined) {
    return tx.all<Transaction>(`${TRANSACTION} WHERE id ${comparison} $1 ORDER BY id ${order} LIMIT $2`, [
      start,
      page.limit + 1,
    ]);
  }
  const text = `${TRANSACTION} WHERE state = $3 AND id ${comparison} $1 ORDER BY state ${order}, id ${order} LIMIT $2`;
  return tx.all<Transaction>(text, [start, page.limit + 1, state]);
}

/** The commit begins: from here on `owner` drives it, and every participant counts as asked, since a crash may hide it. */
export async function beginPreparing(tx: Tx, id: number, owner: string): Promise<void> {
  const text = `UPDATE txn SET state = 'preparing', owner = $2, epoch = epoch + 1 WHERE id = $1 AND state = 'uncommitted'`;
  await tx.run(text, [id, owner]);
  await tx.run(`UPDATE participant SET state = 'asked' WHERE txn = $1 AND state = 'registered'`, [id]);
}

/** No prepare was sent to those who were counted as asked; it is their owner's turn at once. Gives whether there were any. */
export async function markUnasked(tx: Tx, id: number, now: number): Promise<boolean> {
  const text = `UPDATE participant SET state = 'registered', next_try = $2
    WHERE txn = $1 AND state = 'asked' AND stray = 0 AND resolved IS NULL`;
  return (await tx.run(text, [id, now])) > 0;
}

/** The decision to commit: one conditional write. False: someone else decided, or took over. */
export async function decideCommit(tx: Tx, id: number, epoch: number, now: number): Promise<boolean> {
  const text = `UPDATE txn SET state = 'committing', decided = $3 WHERE id = $1 AND state = 'preparing' AND epoch = $2`;
  return (await tx.run(text, [id, epoch, now])) > 0;
}

/** The decision to roll back: any node may take it, as long as none was taken. */
export async function decideRollback(tx: Tx, id: number, owner: string, reason: string, now: number): Promise<boolean> {
  const text = `UPDATE txn SET state = 'rolling-back', decided = $3, reason = $4, owner = $2, epoch = epoch + 1
    WHERE id = $1 AND state IN ('uncommitted', 'preparing')`;
  return (await tx.run(text, [id, owner, now, reason])) > 0;
}

/** Phase two needs no owner to be safe, so whoever changes what it rests on may take it. False: it is not in phase two. */
export async function takePhaseTwo(tx: Tx, id: number, owner: string): Promise<boolean> {
  const text = `UPDATE txn SET owner = $2, epoch = epoch + 1 WHERE id = $1 AND state IN ('committing', 'rolling-back')`;
  return (await tx.run(text, [id, owner])) > 0;
}

export async function finishTransaction(tx: Tx, id: number, outcome: TransactionState, now: number): Promise<boolean> {
  const text = `UPDATE txn SET state = $2, finished = $3 WHERE id = $1 AND state IN ('committing', 'rolling-back')`;
  return (await tx.run(text, [id, outcome, now])) > 0;
}

interface ParticipantRow {
  readonly id: number;
  readonly uri: string;
  readonly kind: string | null;
  readonly state: ParticipantState;
  readonly tries: number;
  readonly stray: number;
  readonly next_try: number | null;
  readonly last_error: string | null;
  readonly resolved: string | null;
}

const PARTICIPANT = 'SELECT id, uri, kind, state, tries, stray, next_try, last_error, resolved FROM participant';

function toParticipant(row: ParticipantRow): Participant {
  const { id, uri, kind, state, tries, resolved } = row;
  return {
    id,
    uri,
    kind,
    state,
    tries,
    nextTry: row.next_try,
    mayStray: row.stray === 1,
    lastError: row.last_error,
    resolved: resolved === null ? null : (JSON.parse(resolved) as Resolution),
    isLocal: uri.startsWith('/'),
  };
}

export async function participantsOf(tx: Tx, transaction: number): Promise<Participant[]> {
  return (await tx.all<ParticipantRow>(`${PARTICIPANT} WHERE txn = $1 ORDER BY id`, [transaction])).map(toParticipant);
}

export async function findParticipant(tx: Tx, transaction: number, id: number): Promise<Participant | undefined> {
  const row = await tx.get<ParticipantRow>(`${PARTICIPANT} WHERE txn = $1 AND id = $2`, [transaction, id]);
  return row && toParticipant(row);
}

export async function countParticipants(tx: Tx, transaction: number): Promise<number> {
  const row = await tx.get<{ count: number }>('SELECT count(*) AS count FROM participant WHERE txn = $1', [
    transaction,
  ]);
  return row?.count ?? 0;
}

/** Gives the participant's id, and whether it is new: a URI is registered once. Throws 409 when there are too many. */
export async function insertParticipant(
  tx: Tx,
  transaction: number,
  { id, uri, kind }: { id: number; uri: string; kind: string | null },
): Promise<{ id: number; isNew: boolean }> {
  const row = await tx.get<{ id: number }>(
    `INSERT INTO participant (txn, id, uri, kind, state, tries, stray) VALUES ($1, $2, $3, $4, 'registered', 0, 0)
     ON CONFLICT (txn, uri) DO NOTHING RETURNING id`,
    [transaction, id, uri, kind],
  );
  if (row !== undefined) {
    if ((await countParticipants(tx, transaction)) <= MAX_PARTICIPANTS) return { id: row.id, isNew: true };
    throw new Problem('conflict', `a transaction has at most ${MAX_PARTICIPANTS} participants`);
  }
  const known = await tx.get<{ id: number }>('SELECT id FROM participant WHERE txn = $1 AND uri = $2', [
    transaction,
    uri,
  ]);
  return { id: known?.id ?? id, isNew: false };
}

export interface ParticipantNote {
  readonly id: number;
  /** The state it was in when it was asked: what has moved on since is left alone. */
  readonly from: ParticipantState;
  readonly state: ParticipantState;
  readonly tries: number;
  readonly nextTry: number | null;
  readonly mayStray: boolean;
  readonly error: string | null;
}

/** Notes what participants said, those that said the same in one statement. Gives the ids of those that had moved on. */
export async function noteParticipants(
  tx: Tx,
  transaction: number,
  notes: readonly ParticipantNote[],
): Promise<Set<number>> {
  const overtaken = new Set(notes.map(({ id }) => id));
  const saidBy = ({ from, state, tries, nextTry, error, mayStray }: ParticipantNote): string =>
    `${from} ${state} ${tries} ${nextTry} ${mayStray} ${error}`;
  for (const alike of Map.groupBy(notes, saidBy).values()) {
    const { from, state, tries, nextTry, error, mayStray } = alike[0] as ParticipantNote;
    const noted = await tx.all<{ id: number }>(
      `UPDATE participant SET state = $3, tries = $4, next_try = $5, last_error = $6, stray = $7
       WHERE txn = $1 AND id ${tx.dialect.inList('$2')} AND state = $8 AND resolved IS NULL RETURNING id`,
      [transaction, tx.dialect.list(alike.map(({ id }) => id)), state, tries, nextTry, error, mayStray ? 1 : 0, from],
    );
    for (const { id } of noted) overtaken.delete(id);
  }
  return overtaken;
}

/**
 * Those who are left alone for a while are to be asked now. Whoever is being asked is not among them. The count of tries
 * begins anew only for those of whom a person was told: it must not be kept down by impatience.
 */
export async function endPauses(tx: Tx, transaction: number, now: number): Promise<void> {
  await tx.run(
    `UPDATE participant SET next_try = $2, tries = CASE WHEN tries < $3 THEN tries ELSE 0 END
     WHERE txn = $1 AND resolved IS NULL AND next_try > $2`,
    [transaction, now, TRIES_BEFORE_NOTICE],
  );
}

/** Those still to be asked will be asked at once, and their pauses begin anew: a phase begins. */
export async function makeDue(tx: Tx, transaction: number): Promise<void> {
  await tx.run(
    `UPDATE participant SET next_try = NULL, tries = 0
     WHERE txn = $1 AND resolved IS NULL AND state IN ('registered', 'asked', 'prepared', 'refused')`,
    [transaction],
  );
}

export async function markResolved(
  tx: Tx,
  transaction: number,
  id: number,
  state: ParticipantState,
  resolution: Resolution,
): Promise<boolean> {
  const text = `UPDATE participant SET state = $3, resolved = $4, next_try = NULL
    WHERE txn = $1 AND id = $2 AND resolved IS NULL AND state IN ('registered', 'asked', 'prepared')`;
  return (await tx.run(text, [transaction, id, state, JSON.stringify(resolution)])) > 0;
}
