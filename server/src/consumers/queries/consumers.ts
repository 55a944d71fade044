/** SQL of consumers: one function per statement, the same text on both engines. */
import type { Page } from '../../http/paging.ts';
import type { Tx } from '../../store/store.ts';
import type { Consumer, ConsumerState, Termination } from '../consumer.ts';
import type { Metadata } from '../fields.ts';

interface ConsumerRow {
  readonly n: number;
  readonly id: string;
  readonly name: string;
  readonly external_key: string | null;
  readonly metadata: string | null;
  readonly version: number;
  readonly epoch: number;
  readonly entitlements: number;
  readonly created: number;
  readonly updated: number;
  readonly terminated: number | null;
  readonly terminated_by: string | null;
  readonly terminated_reason: string | null;
}

export function toTermination(
  at: number | null,
  by: string | null,
  reason: string | null,
): { terminated?: Termination } {
  if (at === null) return {};
  return { terminated: { at, ...(by === null ? {} : { by }), ...(reason === null ? {} : { reason }) } };
}

function toConsumer(row: ConsumerRow): Consumer {
  const { n, id, name, version, epoch, entitlements, created, updated } = row;
  return {
    n,
    id,
    name,
    externalKey: row.external_key,
    metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Metadata),
    version,
    epoch,
    entitlements,
    created,
    updated,
    ...toTermination(row.terminated, row.terminated_by, row.terminated_reason),
  };
}

const CONSUMER = `SELECT n, id, name, external_key, metadata, version, epoch, entitlements, created, updated,
    terminated, terminated_by, terminated_reason FROM consumer`;

export async function findConsumer(tx: Tx, id: string): Promise<Consumer | undefined> {
  const row = await tx.get<ConsumerRow>(`${CONSUMER} WHERE id = $1`, [id]);
  return row && toConsumer(row);
}

/** Every change of a consumer or of one of its entitlements begins with this: it puts them all in one order. */
export async function lockConsumer(tx: Tx, id: string): Promise<Consumer | undefined> {
  const row = await tx.get<ConsumerRow>(`${CONSUMER} WHERE id = $1 ${tx.dialect.forUpdate}`, [id]);
  return row && toConsumer(row);
}

/** Several at once, always in the same order, so that two who want the same ones cannot wait for each other. */
export async function lockConsumers(tx: Tx, ids: readonly string[]): Promise<Map<string, Consumer>> {
  const text = `${CONSUMER} WHERE id ${tx.dialect.inList('$1')} ORDER BY n ${tx.dialect.forUpdate}`;
  const rows = await tx.all<ConsumerRow>(text, [tx.dialect.list(ids)]);
  return new Map(rows.map((row) => [row.id, toConsumer(row)]));
}

/** False when there is one with this id. */
export async function insertConsumer(tx: Tx, consumer: Consumer): Promise<boolean> {
  const { n, id, name, externalKey, metadata, version, epoch, entitlements, created, updated } = consumer;
  const row = await tx.get(
    `INSERT INTO consumer (n, id, name, external_key, metadata, state, version, epoch, entitlements, created, updated)
     VALUES ($1, $2, $3, $4, $5, 0, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING RETURNING n`,
    [n, id, name, externalKey, metadataText(metadata), version, epoch, entitlements, created, updated],
  );
  return row !== undefined;
}

const metadataText = (metadata: Metadata): string | null =>
  Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata);

/** False when another consumer has the key. */
export async function takeKey(tx: Tx, key: string, consumer: number): Promise<boolean> {
  const text = 'INSERT INTO consumer_key (key, consumer) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING RETURNING key';
  return (await tx.get(text, [key, consumer])) !== undefined;
}

export async function freeKey(tx: Tx, key: string): Promise<void> {
  await tx.run('DELETE FROM consumer_key WHERE key = $1', [key]);
}

/** Exported for a look at its plan. */
export const BY_KEY = `${CONSUMER} WHERE n = (SELECT consumer FROM consumer_key WHERE key = $1)`;

export async function findConsumerByKey(tx: Tx, key: string): Promise<Consumer | undefined> {
  const row = await tx.get<ConsumerRow>(BY_KEY, [key]);
  return row && toConsumer(row);
}

/** Writes what an update may change. */
export async function updateConsumer(tx: Tx, consumer: Consumer): Promise<void> {
  const { n, name, externalKey, metadata, version, updated } = consumer;
  await tx.run(
    'UPDATE consumer SET name = $2, external_key = $3, metadata = $4, version = $5, updated = $6 WHERE n = $1',
    [n, name, externalKey, metadataText(metadata), version, updated],
  );
}

/** The one write that terminates or reinstates a consumer and, with it, all of its entitlements. */
export async function writeConsumerState(tx: Tx, consumer: Consumer): Promise<void> {
  const { n, version, epoch, updated, terminated } = consumer;
  await tx.run(
    `UPDATE consumer SET state = $2, version = $3, epoch = $4, updated = $5,
       terminated = $6, terminated_by = $7, terminated_reason = $8 WHERE n = $1`,
    [
      n,
      terminated === undefined ? 0 : 1,
      version,
      epoch,
      updated,
      terminated?.at ?? null,
      terminated?.by ?? null,
      terminated?.reason ?? null,
    ],
  );
}

export async function countEntitlements(tx: Tx, n: number, difference: 1 | -1): Promise<void> {
  await tx.run('UPDATE consumer SET entitlements = entitlements + $2, version = version + 1 WHERE n = $1', [
    n,
    difference,
  ]);
}

const STATES: Readonly<Record<ConsumerState | 'all', string>> = {
  active: 'AND state = 0',
  terminated: 'AND state = 1',
  all: '',
};

/** Exported for a look at its plan. */
export function listConsumersText(backwards: boolean, status: ConsumerState | 'all'): string {
  const [comparison, order] = backwards ? ['<', 'DESC'] : ['>', 'ASC'];
  return `${CONSUMER} WHERE n ${comparison} $1 ${STATES[status]} ORDER BY n ${order} LIMIT $2`;
}

/** One more than the page holds, in its direction. */
export async function listConsumers(
  tx: Tx,
  { limit, backwards }: Pick<Page, 'limit' | 'backwards'>,
  from: number,
  status: ConsumerState | 'all',
): Promise<Consumer[]> {
  const rows = await tx.all<ConsumerRow>(listConsumersText(backwards, status), [from, limit + 1]);
  return rows.map(toConsumer);
}
