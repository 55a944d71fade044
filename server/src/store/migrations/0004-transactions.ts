/**
 * Transactions and their participants: the coordinator's log. A participant's row is written by whoever drives the
 * transaction; the transaction's own row changes only when its state does, so that local participants can hold it shared
 * while they change. Reservations and their locks are participants of this service.
 */
import type { Migration } from '../migrate.ts';

export const transactions: Migration = {
  version: 4,
  statements: ({ dialect }) => [
    // `deadline` ends the time before the decision, `owner` drives it while it is under way.
    `CREATE TABLE txn (
       id BIGINT PRIMARY KEY, state TEXT NOT NULL, timeout TEXT NOT NULL, created BIGINT NOT NULL,
       deadline BIGINT NOT NULL, decided BIGINT, finished BIGINT, reason TEXT, owner TEXT, epoch BIGINT NOT NULL)`,
    `CREATE INDEX txn_open ON txn (deadline) WHERE state = 'uncommitted'`,
    `CREATE INDEX txn_running ON txn (owner) WHERE state IN ('preparing', 'committing', 'rolling-back')`,
    'CREATE INDEX txn_finished ON txn (finished) WHERE finished IS NOT NULL',
    'CREATE INDEX txn_state ON txn (state, id)',
    // Which node is alive, until when, by the database's clock.
    'CREATE TABLE coordinator (id TEXT PRIMARY KEY, until BIGINT NOT NULL)',
    // `stray`: a prepare went out to it that was never answered and may still arrive.
    `CREATE TABLE participant (
       txn BIGINT NOT NULL, id BIGINT NOT NULL, uri TEXT ${dialect.byteOrder} NOT NULL, kind TEXT, state TEXT NOT NULL,
       tries INT NOT NULL, stray INT NOT NULL, next_try BIGINT, last_error TEXT, resolved TEXT, PRIMARY KEY (txn, id), UNIQUE (txn, uri))`,
    'CREATE INDEX participant_due ON participant (next_try) WHERE next_try IS NOT NULL',
    // What a message posted in a transaction took that must be free again after a rollback.
    `CREATE TABLE txn_message (
       txn BIGINT NOT NULL, message BIGINT NOT NULL, dest BIGINT NOT NULL, topic INT NOT NULL, name_hash ${dialect.bytes},
       chain BIGINT, link BIGINT, delayed BIGINT, PRIMARY KEY (txn, message))`,
    `CREATE TABLE reservation (
       id BIGINT PRIMARY KEY, kind TEXT NOT NULL, transaction_uri TEXT NOT NULL, txn BIGINT, elements TEXT NOT NULL,
       state TEXT NOT NULL, version BIGINT NOT NULL, created BIGINT NOT NULL)`,
    'CREATE INDEX reservation_kind ON reservation (kind, id)',
    `CREATE INDEX reservation_in_doubt ON reservation (id) WHERE state = 'prepared' AND txn IS NULL`,
    // One row for each seat or night that is prepared or taken.
    `CREATE TABLE reservation_lock (
       kind TEXT NOT NULL, place TEXT ${dialect.byteOrder} NOT NULL, reservation BIGINT NOT NULL, PRIMARY KEY (kind, place))`,
    'CREATE INDEX reservation_lock_owner ON reservation_lock (reservation)',
  ],
};
