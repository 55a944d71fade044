/** What a person has to look at: notices to the operator. */
import type { Migration } from '../migrate.ts';

export const operator: Migration = {
  version: 2,
  statements: ({ engine }) => [
    // `subject` is the path of what the notice is about, `actions` a JSON list of the links by which to act on it.
    `CREATE TABLE operator_notice (
       id BIGINT PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL, title TEXT NOT NULL, detail TEXT NOT NULL,
       actions TEXT NOT NULL, created BIGINT NOT NULL,
       acknowledged BIGINT, acknowledged_by TEXT, acknowledged_why TEXT)${engine === 'sqlite' ? ' STRICT' : ''}`.replaceAll(
      'BIGINT',
      engine === 'sqlite' ? 'INTEGER' : 'BIGINT',
    ),
    'CREATE INDEX operator_notice_open ON operator_notice (id) WHERE acknowledged IS NULL',
    'CREATE INDEX operator_notice_subject ON operator_notice (subject)',
  ],
};
