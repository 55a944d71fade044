/** Brings a database to the schema of this program. Each engine calls it under a lock of its own. */
import { randomBytes } from 'node:crypto';
import { Problem } from '../problems.ts';
import type { Dialect } from './dialect.ts';
import { messaging } from './migrations/0001-messaging.ts';
import { operator } from './migrations/0002-operator.ts';
import { forwarding } from './migrations/0003-forwarding.ts';
import { transactions } from './migrations/0004-transactions.ts';
import { consumers } from './migrations/0005-consumers.ts';
import { nodes } from './migrations/0006-nodes.ts';
import { forgottenTransactions } from './migrations/0007-forgotten-transactions.ts';
import { onceChains } from './migrations/0008-once-chains.ts';
import { deadLetterNames } from './migrations/0009-dead-letter-names.ts';
import { notedDeliveries } from './migrations/0010-noted-deliveries.ts';
import { heldPromises } from './migrations/0011-held-promises.ts';
import type { Store, Tx } from './store.ts';

export interface MigrationContext {
  readonly engine: Store['engine'];
  readonly dialect: Dialect;
}

export interface Migration {
  readonly version: number;
  statements(context: MigrationContext): string[];
}

/** In the order of their versions; a landed one never changes. */
export const migrations: readonly Migration[] = [
  messaging,
  operator,
  forwarding,
  transactions,
  consumers,
  nodes,
  forgottenTransactions,
  onceChains,
  deadLetterNames,
  notedDeliveries,
  heldPromises,
];

export const SCHEMA_VERSION = migrations.length;

/**
 * Applies what is missing, inside the transaction given, which must hold the engine's migration lock.
 * `meta` holds the schema's version, the service's secret, the counter from which id blocks are reserved, and the highest
 * position any deleted topic had, so that a topic made anew never gives a position again.
 */
export async function migrate(
  tx: Tx,
  engine: Store['engine'],
  table: readonly Migration[] = migrations,
): Promise<void> {
  await tx.run('CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, number BIGINT, value TEXT)');
  const row = await tx.get<{ number: number }>(`SELECT number FROM meta WHERE name = 'schema'`);
  const found = row?.number ?? 0;
  if (found > table.length) {
    throw new Problem(
      'conflict',
      `the database has schema version ${found}, this program knows versions up to ${table.length}; run a newer Waypost`,
    );
  }
  for (const migration of table.slice(found)) {
    for (const statement of migration.statements({ engine, dialect: tx.dialect })) await tx.run(statement);
  }
  if (found === table.length) return;
  if (found === 0) {
    await tx.run(`INSERT INTO meta (name, number) VALUES ('schema', 0), ('next-id', 1), ('topic-floor', 0)`);
    await tx.run(`INSERT INTO meta (name, value) VALUES ('secret', $1)`, [randomBytes(32).toString('hex')]);
  }
  await tx.run(`UPDATE meta SET number = $1 WHERE name = 'schema'`, [table.length]);
}

/**
 * Ids are handed out from memory; this many are reserved at a time. Those left at a crash are never used. Large, because
 * everything that waits to be stored may need one before the next reservation is on disk, a batch two thousand.
 */
export const ID_BLOCK = 1_000_000;

export async function reserveIds(tx: Tx): Promise<number> {
  const row = await tx.get<{ next: number }>(
    `UPDATE meta SET number = number + $1 WHERE name = 'next-id' RETURNING number AS next`,
    [ID_BLOCK],
  );
  if (row === undefined) throw new Error('the id counter is missing');
  return row.next - ID_BLOCK;
}

export async function readSecret(tx: Tx): Promise<Buffer> {
  const row = await tx.get<{ value: string }>(`SELECT value FROM meta WHERE name = 'secret'`);
  if (row === undefined) throw new Error('the signing key is missing');
  return Buffer.from(row.value, 'hex');
}
