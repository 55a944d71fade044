/**
 * Destinations, messages and their deliveries.
 *
 * `message` is immutable and insert-only; `delivery` is narrow and mutable, so that a lease never rewrites a body. There
 * are no foreign keys on these two: a check of the destination's row per message costs a third of the throughput.
 * `message.expires` is used by topics, whose messages have no delivery unless they are delayed or held.
 * `rank` is 9 - priority and `ord` the place in the order of arrival, given when a message becomes visible.
 * Delivery states: 0 ready, 1 leased, 2 delayed, 4 held by a transaction, 5 consumed, 6 dead, 7 expired. Each is found by
 * a partial index, so that a claim costs the same at a thousand and at a million waiting.
 */
import type { Migration } from '../migrate.ts';
import { CAN_EXPIRE, IS_ASIDE, IS_OVER } from '../store.ts';

const indexes = (schema: string): string[] => [
  `CREATE INDEX ${schema}delivery_ready ON delivery (dest, rank, ord) WHERE state = 0`,
  `CREATE INDEX ${schema}delivery_due ON delivery (due, id) WHERE state IN (1, 2)`,
  `CREATE INDEX ${schema}delivery_aside ON delivery (dest, state) WHERE ${IS_ASIDE}`,
  `CREATE INDEX ${schema}delivery_done ON delivery (dest, due, id) WHERE ${IS_OVER}`,
  `CREATE INDEX ${schema}delivery_expires ON delivery (expires, id) WHERE expires IS NOT NULL AND ${CAN_EXPIRE}`,
  `CREATE INDEX ${schema}delivery_held ON delivery (tx) WHERE tx IS NOT NULL`,
  `CREATE UNIQUE INDEX ${schema}message_position ON message (dest, pos) WHERE pos IS NOT NULL`,
];

/** The tables of messages for SQLite, in the durable schema and again in the in-memory one for volatile messages. */
export function sqliteMessageTables(schema: '' | 'volatile.'): string[] {
  return [
    `CREATE TABLE ${schema}message (
       id INTEGER PRIMARY KEY, dest INTEGER NOT NULL, pos INTEGER, posted INTEGER NOT NULL,
       content_type TEXT, headers TEXT NOT NULL, name TEXT, expires INTEGER, body BLOB NOT NULL) STRICT`,
    `CREATE TABLE ${schema}delivery (
       id INTEGER PRIMARY KEY, dest INTEGER NOT NULL, rank INTEGER NOT NULL, ord INTEGER NOT NULL,
       state INTEGER NOT NULL, due INTEGER, expires INTEGER, tries INTEGER NOT NULL, token INTEGER NOT NULL,
       size INTEGER NOT NULL, tx INTEGER) STRICT`,
    ...indexes(schema),
  ];
}

/** On PostgreSQL volatile messages lie in an unlogged partition: no statement changes, a crash empties it. */
const postgresMessageTables: string[] = [
  'CREATE SEQUENCE arrival AS BIGINT',
  `CREATE TABLE message (
     id BIGINT NOT NULL, dest BIGINT NOT NULL, pos BIGINT, posted BIGINT NOT NULL,
     content_type TEXT, headers TEXT NOT NULL, name TEXT, expires BIGINT, body BYTEA NOT NULL, durable BOOLEAN NOT NULL,
     PRIMARY KEY (id, durable)) PARTITION BY LIST (durable)`,
  'CREATE TABLE message_durable PARTITION OF message FOR VALUES IN (true)',
  'CREATE UNLOGGED TABLE message_volatile PARTITION OF message FOR VALUES IN (false)',
  `CREATE TABLE delivery (
     id BIGINT NOT NULL, dest BIGINT NOT NULL, rank SMALLINT NOT NULL, ord BIGINT NOT NULL,
     state SMALLINT NOT NULL, due BIGINT, expires BIGINT, tries INT NOT NULL, token BIGINT NOT NULL,
     size INT NOT NULL, tx BIGINT, durable BOOLEAN NOT NULL,
     PRIMARY KEY (id, durable)) PARTITION BY LIST (durable)`,
  'CREATE TABLE delivery_durable PARTITION OF delivery FOR VALUES IN (true) WITH (fillfactor = 80)',
  'CREATE UNLOGGED TABLE delivery_volatile PARTITION OF delivery FOR VALUES IN (false) WITH (fillfactor = 80)',
  ...indexes('').map((text) =>
    text.replace(
      'UNIQUE INDEX message_position ON message (dest, pos)',
      'UNIQUE INDEX message_position ON message (dest, pos, durable)',
    ),
  ),
  // Bodies are what the client sent, often compressed already: do not spend time on compressing them again.
  'ALTER TABLE message_durable ALTER COLUMN body SET STORAGE EXTERNAL',
  'ALTER TABLE message_volatile ALTER COLUMN body SET STORAGE EXTERNAL',
];

export const messaging: Migration = {
  version: 1,
  statements: ({ engine, dialect }) => [
    `CREATE TABLE destination (
       id BIGINT PRIMARY KEY, kind TEXT NOT NULL, name TEXT ${dialect.byteOrder} NOT NULL, settings TEXT NOT NULL,
       dead_letter INT NOT NULL DEFAULT 0, version BIGINT NOT NULL, created BIGINT NOT NULL, UNIQUE (kind, name))`,
    // Messages of a deleted destination, swept away piece by piece by a duty.
    'CREATE TABLE doomed_destination (id BIGINT PRIMARY KEY)',
    // The last position given in each topic. A row of its own, because every post to the topic rewrites it.
    `CREATE TABLE topic_position (dest BIGINT PRIMARY KEY, last BIGINT NOT NULL)${engine === 'postgresql' ? ' WITH (fillfactor = 20, autovacuum_vacuum_threshold = 200)' : ''}`,
    // Client-chosen message ids by hash, kept until `forget` (null: as long as the message is there).
    `CREATE TABLE message_name (
       dest BIGINT NOT NULL, hash ${dialect.bytes} NOT NULL, message BIGINT NOT NULL, content ${dialect.bytes} NOT NULL,
       forget BIGINT, PRIMARY KEY (dest, hash))${engine === 'sqlite' ? ' WITHOUT ROWID' : ''}`,
    'CREATE INDEX message_name_forget ON message_name (forget) WHERE forget IS NOT NULL',
    // The last used link of each chain of create-next links.
    `CREATE TABLE once_chain (chain BIGINT PRIMARY KEY, n BIGINT NOT NULL, expires BIGINT NOT NULL)${engine === 'postgresql' ? ' WITH (fillfactor = 50)' : ''}`,
    'CREATE INDEX once_chain_expires ON once_chain (expires)',
    // What a used link for a batch stands for: the ids of its messages.
    'CREATE TABLE once_batch (chain BIGINT NOT NULL, n BIGINT NOT NULL, messages TEXT NOT NULL, PRIMARY KEY (chain, n))',
    // Which node runs a background duty, until when.
    'CREATE TABLE duty (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until BIGINT NOT NULL)',
    ...(engine === 'sqlite' ? sqliteMessageTables('') : postgresMessageTables),
  ],
};
