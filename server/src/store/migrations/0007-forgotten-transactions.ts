/** Transactions that were forgotten: for a while one can still tell that they were there. */
import type { Migration } from '../migrate.ts';

export const forgottenTransactions: Migration = {
  version: 7,
  statements: () => [
    'CREATE TABLE forgotten_txn (id BIGINT PRIMARY KEY, until BIGINT NOT NULL)',
    'CREATE INDEX forgotten_txn_until ON forgotten_txn (until)',
  ],
};
