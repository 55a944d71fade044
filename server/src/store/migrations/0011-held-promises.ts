/** Who holds an id or a once-only link is found by it: the message that a transaction holds may be gone with its queue. */
import type { Migration } from '../migrate.ts';

export const heldPromises: Migration = {
  version: 11,
  statements: () => [
    'CREATE INDEX txn_message_link ON txn_message (chain, link) WHERE chain IS NOT NULL',
    'CREATE INDEX txn_message_name ON txn_message (dest, name_hash) WHERE name_hash IS NOT NULL',
  ],
};
