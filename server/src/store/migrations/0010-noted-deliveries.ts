/** On SQLite the deliveries of posts to many queues are noted in one row, and entered later (see ../sqlite/noted-deliveries.ts). */
import type { Migration } from '../migrate.ts';

export const notedDeliveries: Migration = {
  version: 10,
  statements: ({ engine }) =>
    engine === 'sqlite'
      ? [
          'CREATE TABLE noted_deliveries (number INTEGER PRIMARY KEY, count INTEGER NOT NULL, rows TEXT NOT NULL) STRICT',
        ]
      : [],
};
