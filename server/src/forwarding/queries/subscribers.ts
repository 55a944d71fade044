/** SQL of subscribers as clients see them: one function per statement, the same text on both engines. */
import type { Page } from '../../http/paging.ts';
import type { DestinationKind } from '../../messaging/settings.ts';
import type { Tx } from '../../store/store.ts';
import type { Attempt } from '../attempts.ts';
import { hashOfTarget, type Registration, type Relation, type Subscriber } from '../subscriber.ts';

export interface SubscriberRow {
  readonly id: number;
  readonly dest: number;
  readonly kind: DestinationKind;
  readonly rel: Relation;
  readonly href: string;
  readonly secret: string | null;
  readonly created: number;
  readonly token: number;
  readonly epoch: number;
  readonly state: number;
  readonly reason: string | null;
  readonly position: number;
  readonly held: string;
  readonly link: string | null;
  readonly link_for: number | null;
  readonly tries: number;
  readonly next_try: number | null;
  readonly failing_since: number | null;
  readonly failing_at: number | null;
  readonly forwarded: number;
  readonly failed: number;
  readonly dead: number;
}

export function toSubscriber(row: SubscriberRow): Subscriber {
  const { dest, held, link_for, next_try, failing_since, failing_at, ...rest } = row;
  return {
    ...rest,
    destination: dest,
    held: JSON.parse(held) as number[],
    linkFor: link_for,
    nextTry: next_try,
    failingSince: failing_since,
    failingAt: failing_at,
  };
}

export const COLUMNS = [
  ...[
    'id',
    'dest',
    'kind',
    'rel',
    'href',
    'secret',
    'created',
    'token',
    'epoch',
    'state',
    'reason',
    'position',
    'held',
    'link',
  ],
  ...['link_for', 'tries', 'next_try', 'failing_since', 'failing_at', 'forwarded', 'failed', 'dead'],
]
  .map((name) => `subscriber.${name}`)
  .join(', ');

const SELECT = `SELECT ${COLUMNS} FROM subscriber`;

export interface NewSubscriber extends Registration {
  readonly id: number;
  readonly destination: number;
  readonly kind: DestinationKind;
  readonly created: number;
  readonly token: number;
  readonly position: number;
  readonly owner: string | null;
  /** Registered by the service itself, from its configuration. */
  readonly configured: boolean;
}

export async function insertSubscriber(tx: Tx, subscriber: NewSubscriber): Promise<void> {
  const { id, destination, kind, rel, href, secret, created, token, position, owner, configured } = subscriber;
  await tx.run(
    // Marked, so that its node also finds it when the answer to this statement is lost on the way.
    `INSERT INTO subscriber (id, dest, kind, rel, href, hash, secret, created, token, position, owner, configured, attention)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1)`,
    [
      ...[id, destination, kind, rel, href, hashOfTarget(subscriber), secret, created, token, position, owner],
      configured ? 1 : 0,
    ],
  );
}

export async function findByTarget(
  tx: Tx,
  destination: number,
  target: Pick<Registration, 'rel' | 'href'>,
): Promise<Subscriber | undefined> {
  const text = `${SELECT} WHERE dest = $1 AND hash = $2`;
  const row = await tx.get<SubscriberRow>(text, [destination, hashOfTarget(target)]);
  return row && toSubscriber(row);
}

export async function findSubscriber(tx: Tx, destination: number, id: number): Promise<Subscriber | undefined> {
  const row = await tx.get<SubscriberRow>(`${SELECT} WHERE id = $1 AND dest = $2 AND state <> 3`, [id, destination]);
  return row && toSubscriber(row);
}

/** By id: those registered on one node in that order. */
export async function listSubscribers(tx: Tx, destination: number, page: Page): Promise<Subscriber[]> {
  const [comparison, order] = page.backwards ? ['<', 'DESC'] : ['>', 'ASC'];
  const rows = await tx.all<SubscriberRow>(
    `${SELECT} WHERE dest = $1 AND id ${comparison} $2 AND state <> 3 ORDER BY id ${order} LIMIT $3`,
    [destination, Number(page.key ?? 0) || 0, page.limit + 1],
  );
  return rows.map(toSubscriber);
}

export async function countSubscribers(tx: Tx, destination: number): Promise<number> {
  const text = 'SELECT count(*) AS count FROM subscriber WHERE dest = $1 AND state <> 3';
  return (await tx.get<{ count: number }>(text, [destination]))?.count ?? 0;
}

export async function changeSecret(tx: Tx, id: number, secret: string): Promise<void> {
  await tx.run('UPDATE subscriber SET secret = $2, attention = 1 WHERE id = $1', [id, secret]);
}

/** The owner notices and lets go of what it holds. */
export async function markDisabled(tx: Tx, id: number): Promise<boolean> {
  const text = 'UPDATE subscriber SET state = 2, attention = 1 WHERE id = $1 AND state IN (0, 1)';
  return (await tx.run(text, [id])) > 0;
}

export async function markRemoved(tx: Tx, id: number): Promise<boolean> {
  const text = 'UPDATE subscriber SET state = 3, hash = NULL, attention = 1 WHERE id = $1 AND state <> 3';
  return (await tx.run(text, [id])) > 0;
}

/**
 * A fresh start; `skip` passes over the message of a topic at which it stopped. Gives the owner: `node`, unless another
 * has not let go of it yet.
 */
export async function markActive(tx: Tx, id: number, skip: boolean, node: string): Promise<string | undefined> {
  // The link may have been used for the message that is skipped, so it cannot serve the next one.
  const skipping = skip
    ? `, position = CASE WHEN failing_at > position THEN failing_at ELSE position END,
         link = CASE WHEN failing_at IS NULL THEN link END, link_for = CASE WHEN failing_at IS NULL THEN link_for END`
    : '';
  const row = await tx.get<{ owner: string }>(
    `UPDATE subscriber SET state = 0, reason = NULL, tries = 0, next_try = NULL, failing_since = NULL,
       failing_at = NULL, attention = 1, epoch = epoch + 1, owner = COALESCE(owner, $2)${skipping}
     WHERE id = $1 AND state = 2 RETURNING owner`,
    [id, node],
  );
  return row?.owner;
}

export async function markDueNow(tx: Tx, id: number, now: number): Promise<boolean> {
  const text = 'UPDATE subscriber SET next_try = $2, attention = 1 WHERE id = $1 AND state = 1';
  return (await tx.run(text, [id, now])) > 0;
}

/** Subscribers that an earlier configuration registered. */
export async function configuredSubscribers(tx: Tx, destination: number): Promise<Subscriber[]> {
  const rows = await tx.all<SubscriberRow>(`${SELECT} WHERE dest = $1 AND configured = 1 AND state <> 3`, [
    destination,
  ]);
  return rows.map(toSubscriber);
}

export async function readAttempts(tx: Tx, id: number): Promise<Attempt[]> {
  const text = 'SELECT attempts FROM subscriber_attempts WHERE subscriber = $1';
  const row = await tx.get<{ attempts: string }>(text, [id]);
  return row === undefined ? [] : (JSON.parse(row.attempts) as Attempt[]);
}
