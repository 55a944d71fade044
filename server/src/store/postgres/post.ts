/** Postings that arrived together, in one statement: `queuePosts` for queues, `topicPosts` for topics. */
import { isVolatile, type NewMessage, type Posting, type PostOutcome, type Row, type SqlValue } from '../store.ts';
import type { Place } from './floors.ts';

/** What a batch asks of its statement. Most batches ask for neither, and each costs a fifth of the server's work. */
interface Needs {
  /** Some of its postings use a once-only link. */
  readonly links: boolean;
  /** Some of its messages are volatile: the server chooses a partition for each row. */
  readonly partitions: boolean;
}

/**
 * The part both statements share. Destinations and chains are locked in the order of their numbers, so that two batches
 * never wait for each other. A once-only link is used only for a posting whose destination is there, and `incoming` are
 * the messages to be stored.
 */
const accepting = (locked: string, { links }: Needs): string => `
  WITH there AS MATERIALIZED (${locked}),
  ${links ? USED : ''}
  incoming AS MATERIALIZED (
    SELECT t.*, t.id % 2 = 0 AS durable
    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $8::int[], $9::int[], $10::smallint[],
                $11::bigint[], $12::bigint[]${links ? ', $13::bigint[]' : ''})
      WITH ORDINALITY AS t (dest, posted, id, content_type, headers, start, size, rank, expires, delayed
                            ${links ? ', chain' : ''}, i)
    JOIN there USING (dest)
    ${links ? 'LEFT JOIN used USING (chain) WHERE t.chain IS NULL OR used.chain IS NOT NULL' : ''})`;

const USED = `used AS (
    INSERT INTO once_chain (chain, n, expires)
    SELECT chain, link, until FROM unnest($14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[])
      AS t (dest, chain, link, until) JOIN there USING (dest) ORDER BY chain
    ON CONFLICT (chain) DO UPDATE SET n = excluded.n, expires = greatest(once_chain.expires, excluded.expires)
    WHERE once_chain.n = excluded.n - 1 RETURNING chain),`;

const CONTENT = 'content_type, headers, substr($7::bytea, start, size)';
const table = (name: string, { partitions }: Needs): string => (partitions ? name : `${name}_durable`);
/** Beside the destinations, in one row: the chains whose links were used just now. */
const usedLinks = ({ links }: Needs): string =>
  links ? `UNION ALL SELECT NULL, NULL, NULL, string_agg(chain::text, ',') FROM used` : '';

/** The lock waits for a deletion of the destination that is under way, and holds one off until the commit. */
const queueText = (needs: Needs): string => `
  ${accepting('SELECT id AS dest FROM destination WHERE id = ANY($1) ORDER BY id FOR KEY SHARE', needs)},
  stored AS (
    INSERT INTO ${table('message', needs)} (id, dest, posted, content_type, headers, body, durable)
    SELECT id, dest, posted, ${CONTENT}, durable FROM incoming),
  delivered AS (
    INSERT INTO ${table('delivery', needs)}
      (id, dest, rank, ord, state, due, expires, tries, token, size, durable)
    SELECT id, dest, rank, nextval('arrival'), CASE WHEN delayed IS NULL THEN 0 ELSE 2 END, delayed, expires, 0, 0,
           size, durable
    FROM incoming ORDER BY i RETURNING dest, rank, ord, state),
  lowest AS (SELECT dest, min(rank) AS rank, min(ord) AS ord FROM delivered WHERE state = 0 GROUP BY dest)
  SELECT dest AS there, rank, ord, NULL AS used FROM there LEFT JOIN lowest USING (dest) ${usedLinks(needs)}`;

/** The counter rows are held from here to the commit: whoever sees a position sees all before it. */
const topicText = (needs: Needs): string => `
  ${accepting('SELECT dest FROM topic_position WHERE dest = ANY($1) ORDER BY dest FOR UPDATE', needs)},
  numbered AS MATERIALIZED (SELECT incoming.*, row_number() OVER (PARTITION BY dest ORDER BY i) AS nth FROM incoming),
  advanced AS (
    UPDATE topic_position SET last = topic_position.last + total.count
    FROM (SELECT dest, count(*) AS count FROM numbered GROUP BY dest) AS total
    WHERE topic_position.dest = total.dest AND topic_position.dest = ANY($1)
    RETURNING topic_position.dest, topic_position.last - total.count AS base),
  stored AS (
    INSERT INTO ${table('message', needs)} (id, dest, pos, posted, content_type, headers, body, expires, durable)
    SELECT id, dest, base + nth, posted, ${CONTENT}, expires, durable FROM numbered JOIN advanced USING (dest))
  SELECT dest AS there, NULL AS rank, NULL AS ord, NULL AS used FROM there ${usedLinks(needs)}`;

const texts = (make: (needs: Needs) => string): ((batch: Batch) => string) => {
  const made = [false, true].map((links) => [false, true].map((partitions) => make({ links, partitions })));
  return ({ links, partitions }) => made[Number(links)]?.[Number(partitions)] ?? make({ links, partitions });
};

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

/** The statements for a batch. */
export const queuePosts = texts(queueText);
export const topicPosts = texts(topicText);

export interface Batch extends Needs {
  readonly values: SqlValue[];
}

const orNothing = <T>(list: readonly (T | null)[]): readonly (T | null)[] | null =>
  list.some((value) => value !== null) ? list : null;

/**
 * The parameters of both statements. The bodies are one value with offsets: a list of bodies costs twice as much. A list of
 * nothing but nulls goes out as null, which stands for as many nulls as the other lists are long.
 */
export function batchOf(postings: readonly Posting[]): Batch {
  const destinations: number[] = [];
  const posted: number[] = [];
  const chains: (number | null)[] = [];
  const messages: NewMessage[] = [];
  const bodies: Buffer[] = [];
  const starts: number[] = [];
  let next = 1;
  let partitions = false;
  for (const posting of postings) {
    for (const message of posting.messages) {
      destinations.push(posting.destination);
      posted.push(posting.posted);
      chains.push(posting.once?.chain ?? null);
      messages.push(message);
      bodies.push(message.body);
      starts.push(next);
      next += message.body.length;
      partitions ||= isVolatile(message.id);
    }
  }
  const values = [
    [...new Set(postings.map(({ destination }) => destination))],
    destinations,
    posted,
    messages.map(({ id }) => id),
    orNothing(messages.map(({ contentType }) => contentType)),
    messages.map(({ headers }) => headers),
    Buffer.concat(bodies, next - 1),
    starts,
    bodies.map(({ length }) => length),
    messages.map(({ rank }) => rank),
    orNothing(messages.map(({ expires }) => expires)),
    orNothing(messages.map(({ delayedUntil }) => delayedUntil)),
  ];
  const linked = postings.filter(({ once }) => once !== undefined);
  const links = linked.length > 0;
  if (links) {
    values.push(
      orNothing(chains),
      linked.map(({ destination }) => destination),
      linked.map(({ once }) => once?.chain ?? null),
      linked.map(({ once }) => once?.n ?? null),
      linked.map(({ once }) => once?.expires ?? null),
    );
  }
  return { values: values as SqlValue[], links, partitions };
}

/** A destination that is there, with the lowest place of what is ready now; or the chains whose links were used. */
interface PostedRow {
  readonly there: number | null;
  readonly rank: number | null;
  readonly ord: number | null;
  readonly used: string | null;
}

export function postOutcomes(postings: readonly Posting[], rows: readonly Row[]): PostOutcome[] {
  const destinations = new Set<number>();
  const chains = new Set<number>();
  for (const { there, used } of rows as unknown as PostedRow[]) {
    if (there !== null) destinations.add(there);
    for (const chain of used?.split(',') ?? []) chains.add(Number(chain));
  }
  return postings.map(({ destination, once }) => {
    if (!destinations.has(destination)) return 'no-destination';
    return once === undefined || chains.has(once.chain) ? 'stored' : 'once-used';
  });
}

/** How many messages of a batch are ready in each queue, and the lowest of their places. */
export function readyByQueue(
  postings: readonly Posting[],
  outcomes: readonly PostOutcome[],
  rows: readonly Row[],
): Map<number, { count: number; lowest: Place }> {
  const ready = new Map<number, { count: number; lowest: Place }>();
  for (const { there, rank, ord } of rows as unknown as PostedRow[]) {
    if (there !== null && rank !== null && ord !== null) ready.set(there, { count: 0, lowest: { rank, ord } });
  }
  for (const [index, { destination, messages }] of postings.entries()) {
    const queue = outcomes[index] === 'stored' ? ready.get(destination) : undefined;
    if (queue === undefined) continue;
    for (const { delayedUntil } of messages) if (delayedUntil === null) queue.count++;
  }
  return ready;
}
