/** SQL of entitlements: one function per statement, the same text on both engines. */
import type { Tx } from '../../store/store.ts';
import { compareKeys, type Entitlement, keyOf } from '../entitlement.ts';
import { toTermination } from './consumers.ts';

interface EntitlementRow {
  readonly n: number;
  readonly id: string;
  readonly consumer: number;
  readonly product: string;
  readonly product_name: string | null;
  readonly quantity: number;
  readonly starts: number;
  readonly ends: number | null;
  readonly version: number;
  readonly created: number;
  readonly updated: number;
  readonly terminated: number | null;
  readonly terminated_by: string | null;
  readonly terminated_reason: string | null;
  readonly consumer_id: string;
  readonly consumer_epoch: number;
  readonly consumer_terminated: number | null;
  readonly consumer_terminated_by: string | null;
  readonly consumer_terminated_reason: string | null;
}

function toEntitlement(row: EntitlementRow): Entitlement {
  const { n, id, product, product_name: name, quantity, starts, ends, version, created, updated } = row;
  return {
    n,
    id,
    product: { id: product, ...(name === null ? {} : { name }) },
    quantity,
    start: starts,
    end: ends,
    version,
    created,
    updated,
    ...toTermination(row.terminated, row.terminated_by, row.terminated_reason),
    consumer: {
      n: row.consumer,
      id: row.consumer_id,
      epoch: row.consumer_epoch,
      ...toTermination(row.consumer_terminated, row.consumer_terminated_by, row.consumer_terminated_reason),
    },
  };
}

const entitlementsIn = (
  source: string,
): string => `SELECT e.n, e.id, e.consumer, e.product, e.product_name, e.quantity, e.starts, e.ends, e.version,
    e.created, e.updated, e.terminated, e.terminated_by, e.terminated_reason, c.id AS consumer_id,
    c.epoch AS consumer_epoch, c.terminated AS consumer_terminated, c.terminated_by AS consumer_terminated_by,
    c.terminated_reason AS consumer_terminated_reason
  FROM ${source} e JOIN consumer c ON c.n = e.consumer`;
const ENTITLEMENT = entitlementsIn('entitlement');

export async function findEntitlement(tx: Tx, id: string): Promise<Entitlement | undefined> {
  const row = await tx.get<EntitlementRow>(`${ENTITLEMENT} WHERE e.id = $1`, [id]);
  return row && toEntitlement(row);
}

export async function findEntitlements(tx: Tx, ids: readonly string[]): Promise<Map<string, Entitlement>> {
  const text = `${ENTITLEMENT} WHERE e.id ${tx.dialect.inList('$1')}`;
  const rows = await tx.all<EntitlementRow>(text, [tx.dialect.list(ids)]);
  return new Map(rows.map((row) => [row.id, toEntitlement(row)]));
}

/**
 * Another entitlement of the consumer to the product that is neither marked as terminated nor over. `marked` stands in a
 * sum, so that only the index on the product can serve: the consumer may have a hundred thousand others.
 */
export async function findRival(
  tx: Tx,
  entitlement: Pick<Entitlement, 'id' | 'product' | 'consumer'>,
  now: number,
): Promise<Entitlement | undefined> {
  const values = [entitlement.product.id, entitlement.consumer.n, now, entitlement.id];
  const row = await tx.get<EntitlementRow>(RIVAL, values);
  return row && toEntitlement(row);
}

/** Exported for a look at its plan. */
export const RIVAL = `${ENTITLEMENT} WHERE e.product = $1 AND e.consumer = $2 AND e.marked + 0 = 0
    AND (e.ends IS NULL OR e.ends > $3) AND e.id <> $4 ORDER BY e.n LIMIT 1`;

/** False when there is one with this id. */
export async function insertEntitlement(tx: Tx, entitlement: Entitlement): Promise<boolean> {
  const { n, id, consumer, product, quantity, start, end, version, created, updated } = entitlement;
  const row = await tx.get(
    `INSERT INTO entitlement (n, id, consumer, product, product_name, quantity, starts, ends, marked, version, created,
       updated)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11) ON CONFLICT (id) DO NOTHING RETURNING n`,
    [n, id, consumer.n, product.id, product.name ?? null, quantity, start, end, version, created, updated],
  );
  return row !== undefined;
}

/** Writes what an update may change. */
export async function updateEntitlement(tx: Tx, entitlement: Entitlement): Promise<void> {
  const { id, product, quantity, start, end, version, updated } = entitlement;
  await tx.run(
    `UPDATE entitlement SET product_name = $2, quantity = $3, starts = $4, ends = $5, version = $6, updated = $7
     WHERE id = $1`,
    [id, product.name ?? null, quantity, start, end, version, updated],
  );
}

export async function writeEntitlementMark(tx: Tx, entitlement: Entitlement): Promise<void> {
  const { id, version, updated, terminated } = entitlement;
  await tx.run(
    `UPDATE entitlement SET marked = $2, version = $3, updated = $4,
       terminated = $5, terminated_by = $6, terminated_reason = $7 WHERE id = $1`,
    [
      id,
      terminated === undefined ? 0 : 1,
      version,
      updated,
      terminated?.at ?? null,
      terminated?.by ?? null,
      terminated?.reason ?? null,
    ],
  );
}

/** Which entitlements a walk meets: those to a product, or those that are or are not terminated themselves. */
export type Scope = { readonly consumer?: number } & ({ readonly product: string } | { readonly marked: boolean });

export type Range = Scope & {
  /** Where to go on, in the direction of the walk: behind this entitlement of the consumer or, without one, behind this consumer. */
  readonly behind: number;
  readonly backwards: boolean;
  readonly limit: number;
};

/**
 * Each combination is answered by an index in its own order. Exported for a look at the plans.
 *
 * Consumer and entitlement are never compared as a pair: SQLite would find the consumer by the index and then pass over
 * all of its entitlements up to the place, a hundred thousand for a page, because its `n` is the row's own number.
 *
 * The page is cut before the consumers are looked up: PostgreSQL would else walk along all consumers from the first one,
 * since their order is that of the entitlements, and take a third of a second in the middle of a million.
 */
export function rangeStatement(range: Range): { text: string; values: (string | number)[] } {
  const { consumer, behind, backwards, limit } = range;
  const values: (string | number)[] = [];
  const parameter = (value: string | number): string => `$${values.push(value)}`;
  const [comparison, order] = backwards ? ['<', 'DESC'] : ['>', 'ASC'];
  const which = 'product' in range ? `product = ${parameter(range.product)}` : `marked = ${range.marked ? 1 : 0}`;
  const [where, by] =
    consumer === undefined
      ? [`consumer ${comparison} ${parameter(behind)}`, `consumer ${order}, n ${order}`]
      : [`consumer = ${parameter(consumer)} AND n ${comparison} ${parameter(behind)}`, `n ${order}`];
  const page = `SELECT * FROM entitlement WHERE ${which} AND ${where} ORDER BY ${by} LIMIT ${parameter(limit)}`;
  return { text: entitlementsIn(`(${page})`), values };
}

export async function rangeOfEntitlements(tx: Tx, range: Range): Promise<Entitlement[]> {
  const { text, values } = rangeStatement(range);
  const rows = await tx.all<EntitlementRow>(text, values);
  const sign = range.backwards ? -1 : 1;
  // They come in this order anyway; only that of the page itself is promised.
  return rows.map(toEntitlement).sort((a, b) => sign * compareKeys(keyOf(a), keyOf(b)));
}

export function entitledText(terminated: boolean, backwards: boolean): string {
  const [comparison, order] = backwards ? ['<', 'DESC'] : ['>', 'ASC'];
  return `SELECT n, entitlements FROM consumer WHERE state = ${terminated ? 1 : 0} AND entitlements > 0
    AND n ${comparison} $1 ORDER BY n ${order} LIMIT $2`;
}

/** Consumers in a state that have entitlements which are not marked, with how many. */
export async function entitledConsumers(
  tx: Tx,
  walk: { readonly terminated: boolean; readonly from: number; readonly backwards: boolean; readonly limit: number },
): Promise<{ n: number; entitlements: number }[]> {
  return tx.all(entitledText(walk.terminated, walk.backwards), [walk.from, walk.limit]);
}

/** Exported for a look at its plan. */
export const entitlementsOfText = ({ inList }: Tx['dialect']): string =>
  `${ENTITLEMENT} WHERE e.consumer ${inList('$1')} AND e.marked = 0`;

/** All that is not marked of these consumers; the caller knows that they are few. */
export async function entitlementsOf(tx: Tx, consumers: readonly number[]): Promise<Entitlement[]> {
  const text = entitlementsOfText(tx.dialect);
  return (await tx.all<EntitlementRow>(text, [tx.dialect.list(consumers)])).map(toEntitlement);
}
