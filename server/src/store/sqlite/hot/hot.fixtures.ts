/** A database as the hot thread has it, for tests of what runs there. */
import { DatabaseSync } from 'node:sqlite';
import { messaging, sqliteMessageTables } from '../../migrations/0001-messaging.ts';
import { notedDeliveries } from '../../migrations/0010-noted-deliveries.ts';
import { sqliteDialect } from '../dialect.ts';

let volatile = 0;

export function openTables(): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  const context = { engine: 'sqlite', dialect: sqliteDialect('NULL') } as const;
  for (const migration of [messaging, notedDeliveries]) for (const text of migration.statements(context)) db.exec(text);
  db.exec(`ATTACH 'file:/hot-fixtures-${volatile++}?vfs=memdb' AS volatile`);
  for (const text of sqliteMessageTables('volatile.')) db.exec(text);
  return db;
}

export interface Stored {
  readonly id: number;
  readonly dest?: number;
  readonly state?: number;
  readonly due?: number;
  readonly name?: string;
  readonly body?: Uint8Array;
}

/** A message with its delivery. */
export function store(db: DatabaseSync, stored: Stored): void {
  const { id, dest = 1, state = 0, due = null, name = null, body = Buffer.from('x') } = stored;
  db.prepare(
    `INSERT INTO main.message (id, dest, posted, content_type, headers, name, body) VALUES (?, ?, 1, NULL, '[]', ?, ?)`,
  ).run(id, dest, name, body);
  db.prepare(
    `INSERT INTO main.delivery (id, dest, rank, ord, state, due, tries, token, size) VALUES (?, ?, 5, ?, ?, ?, 0, 0, ?)`,
  ).run(id, dest, id, state, due, body.length);
}
