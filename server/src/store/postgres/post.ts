/** Postings that arrived together, in one statement: `queuePosts` for queues, `topicPosts` for topics. */
import type { NewMessage, Posting, PostOutcome, Row, SqlValue } from '../store.ts';
import type { Place } from './floors.ts';

/**
 * The part both statements share. `posting` is numbered by its place in the batch. A once-link is used only for a
 * posting whose destination is there, and `accepted` are those that are stored.
 *
 * Destinations and chains are locked in the order of their numbers, so that two batches never wait for each other.
 */
const accepting = (locked: string): string => `
  WITH posting AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
      WITH ORDINALITY AS t (dest, posted, chain, link, until, n)),
  there AS MATERIALIZED (${locked}),
  used AS (
    INSERT INTO once_chain (chain, n, expires)
    SELECT chain, link, until FROM posting JOIN there USING (dest) WHERE chain IS NOT NULL ORDER BY chain
    ON CONFLICT (chain) DO UPDATE SET n = excluded.n, expires = excluded.expires
    WHERE once_chain.n = excluded.n - 1 RETURNING chain),
  accepted AS MATERIALIZED (
    SELECT posting.n, posting.dest, posting.posted FROM posting JOIN there USING (dest) LEFT JOIN used USING (chain)
    WHERE posting.chain IS NULL OR used.chain IS NOT NULL),
  incoming AS MATERIALIZED (
    SELECT accepted.dest, accepted.posted, t.*, t.id % 2 = 0 AS durable
    FROM unnest($6::int[], $7::bigint[], $8::text[], $9::text[], $11::int[], $12::int[],
                $13::smallint[], $14::bigint[], $15::bigint[])
      WITH ORDINALITY AS t (posting, id, content_type, headers, start, size, rank, expires, delayed, i)
    JOIN accepted ON accepted.n = t.posting)`;

const CONTENT = 'content_type, headers, substr($10::bytea, start, size)';

/** The lock waits for a deletion of the destination that is under way, and holds one off until the commit. */
export const queuePosts = `${accepting('SELECT id AS dest FROM destination WHERE id = ANY($1) ORDER BY id FOR KEY SHARE')},
  stored AS (
    INSERT INTO message (id, dest, posted, content_type, headers, body, durable)
    SELECT id, dest, posted, ${CONTENT}, durable FROM incoming),
  delivered AS (
    INSERT INTO delivery (id, dest, rank, ord, state, due, expires, tries, token, size, durable)
    SELECT id, dest, rank, nextval('arrival'), CASE WHEN delayed IS NULL THEN 0 ELSE 2 END, delayed, expires, 0, 0,
           size, durable
    FROM incoming ORDER BY i RETURNING dest, rank, ord, state),
  lowest AS (SELECT dest, min(rank) AS rank, min(ord) AS ord FROM delivered WHERE state = 0 GROUP BY dest)
  SELECT posting.n, there.dest IS NOT NULL AS there, accepted.n IS NOT NULL AS stored, lowest.rank, lowest.ord
  FROM posting LEFT JOIN there ON there.dest = posting.dest LEFT JOIN accepted ON accepted.n = posting.n
  LEFT JOIN lowest ON lowest.dest = posting.dest`;

/** The counter rows are held from here to the commit: whoever sees a position sees all before it. */
export const topicPosts = `${accepting('SELECT dest FROM topic_position WHERE dest = ANY($1) ORDER BY dest FOR UPDATE')},
  numbered AS MATERIALIZED (SELECT incoming.*, row_number() OVER (PARTITION BY dest ORDER BY i) AS nth FROM incoming),
  advanced AS (
    UPDATE topic_position SET last = topic_position.last + total.count
    FROM (SELECT dest, count(*) AS count FROM numbered GROUP BY dest) AS total
    WHERE topic_position.dest = total.dest AND topic_position.dest = ANY($1)
    RETURNING topic_position.dest, topic_position.last - total.count AS base),
  stored AS (
    INSERT INTO message (id, dest, pos, posted, content_type, headers, body, expires, durable)
    SELECT id, dest, base + nth, posted, ${CONTENT}, expires, durable FROM numbered JOIN advanced USING (dest))
  SELECT posting.n, there.dest IS NOT NULL AS there, accepted.n IS NOT NULL AS stored
  FROM posting LEFT JOIN there ON there.dest = posting.dest LEFT JOIN accepted ON accepted.n = posting.n`;

/** Messages for one topic, inside a transaction that does more: position and content in one statement. */
export function topicPostText(count: number): string {
  const row = (_: unknown, index: number): string => {
    const [id, type, headers, body] = [4, 5, 6, 7].map((n) => `$${n + 4 * index}`);
    return `(${id}::bigint, ${index + 1}, ${type}::text, ${headers}::text, ${body}::bytea)`;
  };
  return `WITH advanced AS (UPDATE topic_position SET last = last + $3 WHERE dest = $1 RETURNING last - $3 AS base)
    INSERT INTO message (id, dest, pos, posted, content_type, headers, body, durable)
    SELECT new.id, $1, base + nth, $2, new.content_type, new.headers, new.body, true
    FROM advanced, (VALUES ${Array.from({ length: count }, row).join(', ')}) AS new (id, nth, content_type, headers, body)`;
}

export const topicPostValues = (topic: number, posted: number, messages: readonly NewMessage[]): SqlValue[] => [
  topic,
  posted,
  messages.length,
  ...messages.flatMap(({ id, contentType, headers, body }) => [id, contentType, headers, body]),
];

/** The parameters of both statements. The bodies are one value with offsets: a list of bodies costs twice as much. */
export function postValues(postings: readonly Posting[]): SqlValue[] {
  const owners: number[] = [];
  const messages: NewMessage[] = [];
  for (const [index, posting] of postings.entries()) {
    for (const message of posting.messages) {
      owners.push(index + 1);
      messages.push(message);
    }
  }
  let next = 1;
  const starts = messages.map(({ body }) => {
    const start = next;
    next += body.length;
    return start;
  });
  return [
    postings.map(({ destination }) => destination),
    postings.map(({ posted }) => posted),
    postings.map(({ once }) => once?.chain ?? null),
    postings.map(({ once }) => once?.n ?? null),
    postings.map(({ once }) => once?.expires ?? null),
    owners,
    messages.map(({ id }) => id),
    messages.map(({ contentType }) => contentType),
    messages.map(({ headers }) => headers),
    Buffer.concat(messages.map(({ body }) => body)),
    starts,
    messages.map(({ body }) => body.length),
    messages.map(({ rank }) => rank),
    messages.map(({ expires }) => expires),
    messages.map(({ delayedUntil }) => delayedUntil),
  ] as SqlValue[];
}

export function postOutcomes(postings: readonly Posting[], rows: readonly Row[]): PostOutcome[] {
  const outcomes: PostOutcome[] = postings.map(() => 'no-destination');
  for (const { n, there, stored } of rows as { n: number; there: boolean; stored: boolean }[]) {
    if (stored) outcomes[n - 1] = 'stored';
    else if (there) outcomes[n - 1] = 'once-used';
  }
  return outcomes;
}

/** How many messages of a batch are ready in each queue, and the lowest of their places. */
export function readyByQueue(
  postings: readonly Posting[],
  rows: readonly Row[],
): Map<number, { count: number; lowest: Place }> {
  const ready = new Map<number, { count: number; lowest: Place }>();
  for (const { n, stored, rank, ord } of rows as { n: number; stored: boolean; rank: number | null; ord: number }[]) {
    const posting = postings[n - 1];
    if (!stored || rank === null || posting === undefined) continue;
    const count = posting.messages.filter((message) => message.delayedUntil === null).length;
    const known = ready.get(posting.destination);
    if (known === undefined) ready.set(posting.destination, { count, lowest: { rank, ord } });
    else known.count += count;
  }
  return ready;
}
