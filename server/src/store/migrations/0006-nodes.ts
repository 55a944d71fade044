/**
 * One membership of nodes for transactions, subscribers and duties: a row in `node` is a node, and what bears its id is
 * its own as long as the row is there. Before, transactions and duties had leases of their own.
 */
import type { Migration } from '../migrate.ts';

export const nodes: Migration = {
  version: 6,
  statements: () => [
    // A coordinator keeps its transactions until its lease is over, as it thinks itself.
    `INSERT INTO node (id, place, beat_until) SELECT id, '', until FROM coordinator`,
    'DROP TABLE coordinator',
    // The number of the process at its place; whoever comes after it there looks whether it is still running.
    'ALTER TABLE node ADD COLUMN process BIGINT',
    // A duty belongs to a node, and is free when that is gone.
    'DROP TABLE duty',
    'CREATE TABLE duty (name TEXT PRIMARY KEY, owner TEXT NOT NULL)',
  ],
};
