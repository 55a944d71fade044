/** On SQLite a chain of create-next links is found by the number of its row, not by an index beside the table. */
import type { Migration } from '../migrate.ts';

export const onceChains: Migration = {
  version: 8,
  statements: ({ engine }) => {
    if (engine !== 'sqlite') return [];
    return [
      'ALTER TABLE once_chain RENAME TO earlier_once_chain',
      'DROP INDEX once_chain_expires',
      'CREATE TABLE once_chain (chain INTEGER PRIMARY KEY, n INTEGER NOT NULL, expires INTEGER NOT NULL) STRICT',
      'INSERT INTO once_chain (chain, n, expires) SELECT chain, n, expires FROM earlier_once_chain',
      'DROP TABLE earlier_once_chain',
      'CREATE INDEX once_chain_expires ON once_chain (expires)',
    ];
  },
};
