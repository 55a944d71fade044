/**
 * Subscribers and what is durable of forwarding to them.
 *
 * `position` is the last message of a topic that was forwarded; `held` lists the messages of a queue that are leased to the
 * subscriber, under its `token`. `link` is the create-next link the next message goes to and `link_for` the message that
 * may have been posted to it already: both stand here before that message leaves.
 * `epoch` rises when someone sets the subscriber going anew, so that its owner does not overwrite that unseen.
 * States: 0 active, 1 retrying, 2 disabled, 3 removed (its owner still has to let go of what it holds).
 */
import type { Migration } from '../migrate.ts';

export const forwarding: Migration = {
  version: 3,
  statements: ({ engine, dialect }) => [
    // Which node is alive, until when, by the clock all nodes share; `place` is the machine and port it listens on.
    'CREATE TABLE node (id TEXT PRIMARY KEY, place TEXT NOT NULL, beat_until BIGINT NOT NULL)',
    `CREATE TABLE subscriber (
       id BIGINT PRIMARY KEY, dest BIGINT NOT NULL, kind TEXT NOT NULL, rel TEXT NOT NULL, href TEXT NOT NULL,
       hash ${dialect.bytes}, secret TEXT, configured INT NOT NULL DEFAULT 0, created BIGINT NOT NULL,
       token BIGINT NOT NULL, owner TEXT, epoch BIGINT NOT NULL DEFAULT 0, attention INT NOT NULL DEFAULT 0,
       state INT NOT NULL DEFAULT 0, reason TEXT,
       position BIGINT NOT NULL DEFAULT 0, held TEXT NOT NULL DEFAULT '[]', link TEXT, link_for BIGINT,
       tries INT NOT NULL DEFAULT 0, next_try BIGINT, failing_since BIGINT, failing_at BIGINT,
       forwarded BIGINT NOT NULL DEFAULT 0, failed BIGINT NOT NULL DEFAULT 0, dead BIGINT NOT NULL DEFAULT 0
     )${engine === 'postgresql' ? ' WITH (fillfactor = 50)' : ''}`,
    // A removed one has no hash any more, so that the same can be registered anew at once.
    'CREATE UNIQUE INDEX subscriber_target ON subscriber (dest, hash)',
    'CREATE INDEX subscriber_dest ON subscriber (dest, id)',
    'CREATE INDEX subscriber_owner ON subscriber (owner)',
    // What the owner of a subscriber has not noticed yet: someone else changed its state.
    'CREATE INDEX subscriber_attention ON subscriber (owner) WHERE attention = 1',
    // The last attempts of each, written once a second rather than with every message.
    'CREATE TABLE subscriber_attempts (subscriber BIGINT PRIMARY KEY, attempts TEXT NOT NULL)',
  ],
};
