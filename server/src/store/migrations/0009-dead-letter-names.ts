/** Which queue a queue names for its dead letters, in a column of its own, by which those that name a queue are found. */
import type { Migration } from '../migrate.ts';

export const deadLetterNames: Migration = {
  version: 9,
  statements: ({ engine }) => [
    'ALTER TABLE destination ADD COLUMN dead_letter_to TEXT',
    engine === 'sqlite'
      ? `UPDATE destination SET dead_letter_to = json_extract(settings, '$."dead-letter"') WHERE kind = 'queue'`
      : `UPDATE destination SET dead_letter_to = settings::json ->> 'dead-letter' WHERE kind = 'queue'`,
    'CREATE INDEX destination_dead_letter_to ON destination (dead_letter_to) WHERE dead_letter_to IS NOT NULL',
    // Held by whoever names a dead-letter queue: one at a time, so that two together make no circle.
    `INSERT INTO meta (name, number) VALUES ('dead-letters', 0)`,
  ],
};
