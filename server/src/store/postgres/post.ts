/** Postings that arrived together, in one statement: `queuePosts` for queues, `topicPosts` for topics. */
import type { NewMessage, SqlValue } from '../store.ts';
import type { Needs } from './post-batch.ts';
import { type Links, type ParameterName, placeholders } from './post-parameters.ts';

type Parameters = Readonly<Record<ParameterName, string>>;

/** Nearly always all destinations are there, and all links can be used: then no message is asked for its own. */
const allThere = (p: Parameters): string => `(SELECT count(*) FROM there) = cardinality(${p.destinations})`;
const isThere = (p: Parameters): string => `(${allThere(p)} OR dest = ANY (ARRAY(SELECT dest FROM there)))`;
const mayPost = (p: Parameters): string =>
  `((SELECT count(*) FROM used) = ${p.chainCount} OR chain IS NULL OR chain = ANY (ARRAY(SELECT chain FROM used)))`;

/** Chains are taken in the order of their numbers, and after the destinations, so that two batches never wait for each other. */
function using(links: Links, p: Parameters): string {
  if (links === 'none') return '';
  return `used AS (${links === 'next' ? useNext(p) : useAny(p)}),`;
}

/**
 * Comes upon the rows of the chains in the order of their index, and changes those whose last used link is the one before.
 * They are remembered as long as the one of the batch that is remembered longest, which nearly always changes nothing.
 * The list is ascending, so that the place of a chain in it is found in a few steps, however long it is.
 */
const useNext = (p: Parameters): string => `
    UPDATE once_chain SET n = n + 1, expires = greatest(expires, ${p.latest})
    WHERE chain = ANY (${p.chain}) AND n + 1 = (${p.link})[width_bucket(chain, ${p.chain})]
    RETURNING 1`;

/**
 * Fails the statement, before anything is inserted, unless all destinations are there and all links were used: asking each
 * message for its own costs more than all else about links but their use. The destinations are looked at first. The time
 * keeps the server from working the cast out when it makes the plan; the words are for whoever finds them in its log.
 */
const allOrNothing = (p: Parameters): string => `
    CASE WHEN ${allThere(p)} AND (SELECT count(*) FROM used) = cardinality(${p.chain}) THEN true
         ELSE ('a once-only link is not the next of its chain, Waypost will look at each: ' || now())::boolean END`;

/** The SQLSTATE of a statement that `allOrNothing` has failed: a text that is no boolean. */
export const NOT_ALL = '22P02';

/** Uses the links that can be used, each only for a posting whose destination is there. */
const useAny = (p: Parameters): string => `
    INSERT INTO once_chain (chain, n, expires)
    SELECT DISTINCT ON (chain) chain, link, until
    FROM (SELECT chain, link, until, coalesce(dest, ${p.everyDest}) AS dest
          FROM (SELECT unnest(${p.chain}) AS chain, unnest(${p.link}) AS link, unnest(${p.until}) AS until,
                       unnest(${p.dest}) AS dest) AS sent) AS links
    WHERE chain IS NOT NULL AND ${isThere(p)} ORDER BY chain
    ON CONFLICT (chain) DO UPDATE SET n = excluded.n, expires = greatest(once_chain.expires, excluded.expires)
    WHERE once_chain.n = excluded.n - 1
    RETURNING chain`;

/** Only where not all links could be used: the chains of those that were. */
const usedLinks = (links: Links, p: Parameters): string =>
  links !== 'any'
    ? 'NULL'
    : `(SELECT coalesce(string_agg(chain::text, ','), '') FROM used HAVING count(*) <> ${p.chainCount})`;

const WANTED: Readonly<Record<Links, (p: Parameters) => string>> = {
  none: isThere,
  next: allOrNothing,
  any: (p) => `${isThere(p)} AND ${mayPost(p)}`,
};

/**
 * The messages to be stored, in the order of arrival, which no join disturbs. Functions in the target list give their rows
 * one by one; in FROM all values of each would first be written to a place of their own.
 */
const incoming = (links: Links, p: Parameters): string => `incoming AS MATERIALIZED (
    SELECT * FROM (
      SELECT id, coalesce(dest, ${p.everyDest}) AS dest, posted, start, size, expires, delayed,
             coalesce(content_type, ${p.everyContentType}) AS content_type, coalesce(headers, ${p.everyHeaders}) AS headers,
             coalesce(rank, ${p.everyRank}) AS rank ${links === 'any' ? ', chain' : ''}
      FROM (SELECT unnest(${p.id}) AS id, unnest(${p.dest}) AS dest, unnest(${p.posted}) AS posted,
                   unnest(${p.start}) AS start, unnest(${p.size}) AS size, unnest(${p.expires}) AS expires,
                   unnest(${p.delayed}) AS delayed, unnest(${p.contentType}) AS content_type,
                   unnest(${p.headers}) AS headers, unnest(${p.rank}) AS rank
                   ${links === 'any' ? `, unnest(${p.chain}) AS chain` : ''}) AS sent) AS named
    WHERE ${WANTED[links](p)})`;

const content = (p: Parameters): string => `content_type, headers, substr(${p.bodies}, start, size)`;
const table = (name: string, { partitions }: Needs): string => (partitions ? name : `${name}_durable`);
const durable = ({ partitions }: Needs): string => (partitions ? 'id % 2 = 0' : 'true');

/** The lock waits for a deletion of the destination that is under way, and holds one off until the commit. */
function queueText(needs: Needs): string {
  const p = placeholders(needs.links);
  return `
  WITH there AS MATERIALIZED (
    SELECT id AS dest FROM destination WHERE id = ANY (${p.destinations}) ORDER BY id FOR KEY SHARE),
  ${using(needs.links, p)}
  ${incoming(needs.links, p)},
  stored AS (
    INSERT INTO ${table('message', needs)} (id, dest, posted, content_type, headers, body, durable)
    SELECT id, dest, posted, ${content(p)}, ${durable(needs)} FROM incoming),
  delivered AS (
    INSERT INTO ${table('delivery', needs)}
      (id, dest, rank, ord, state, due, expires, tries, token, size, durable)
    SELECT id, dest, rank, nextval('arrival'), CASE WHEN delayed IS NULL THEN 0 ELSE 2 END, delayed, expires, 0, 0,
           size, ${durable(needs)}
    FROM incoming RETURNING ord)
  ${
    needs.links === 'next'
      ? 'SELECT min(ord) AS ord FROM delivered'
      : `SELECT dest AS there, (SELECT min(ord) FROM delivered) AS ord, ${usedLinks(needs.links, p)} AS used FROM there`
  }`;
}

/** The counter rows are held from here to the commit: whoever sees a position sees all before it. */
function topicText(needs: Needs): string {
  const p = placeholders(needs.links);
  return `
  WITH there AS MATERIALIZED (
    SELECT dest FROM topic_position WHERE dest = ANY (${p.destinations}) ORDER BY dest FOR UPDATE),
  ${using(needs.links, p)}
  ${incoming(needs.links, p)},
  placed AS MATERIALIZED (SELECT *, row_number() OVER () AS place FROM incoming),
  numbered AS MATERIALIZED (SELECT *, row_number() OVER (PARTITION BY dest ORDER BY place) AS nth FROM placed),
  advanced AS (
    UPDATE topic_position SET last = topic_position.last + total.count
    FROM (SELECT dest, count(*) AS count FROM numbered GROUP BY dest) AS total
    WHERE topic_position.dest = total.dest AND topic_position.dest = ANY (${p.destinations})
    RETURNING topic_position.dest, topic_position.last - total.count AS base),
  stored AS (
    INSERT INTO ${table('message', needs)} (id, dest, pos, posted, content_type, headers, body, expires, durable)
    SELECT id, dest, base + nth, posted, ${content(p)}, expires, ${durable(needs)}
    FROM numbered JOIN advanced USING (dest))
  SELECT dest AS there, NULL AS ord, ${usedLinks(needs.links, p)} AS used FROM there`;
}

/** One text for each need, made when it is first asked for. */
function texts(make: (needs: Needs) => string): (needs: Needs) => string {
  const made = new Map<string, string>();
  return ({ links, partitions }) => {
    const key = `${links} ${partitions}`;
    const text = made.get(key) ?? make({ links, partitions });
    made.set(key, text);
    return text;
  };
}

/** The statements for a batch. */
export const queuePosts = texts(queueText);
export const topicPosts = texts(topicText);

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
