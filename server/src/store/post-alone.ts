/**
 * Posting in a transaction of its own, one SQL text for both engines: for what cannot be decided by one statement over
 * many postings, which is a client-chosen id and a destination with a limit. Everything else takes the hot path.
 */
import { IS_ASIDE, isVolatile, type NewMessage, type Posting, type PostOutcome, type Tx } from './store.ts';

export async function postAlone(tx: Tx, posting: Posting): Promise<PostOutcome> {
  const { destination, limits, name, once } = posting;
  // The destination's row is the root: a limit is counted by one poster at a time, a deletion waits or is seen.
  const lock = limits === undefined ? tx.dialect.forShare : tx.dialect.forUpdate;
  if ((await tx.get(`SELECT id FROM destination WHERE id = $1 ${lock}`, [destination])) === undefined) {
    return 'no-destination';
  }
  if (name !== undefined) {
    const outcome = await takeName(tx, posting, name);
    if (outcome !== 'stored') return outcome;
  }
  if (limits !== undefined && (await isFull(tx, posting, limits))) return 'full';
  if (once !== undefined) {
    const used = await tx.get(
      `INSERT INTO once_chain (chain, n, expires) VALUES ($1, $2, $3)
       ON CONFLICT (chain) DO UPDATE SET n = excluded.n, expires = excluded.expires
       WHERE once_chain.n = excluded.n - 1 RETURNING n`,
      [once.chain, once.n, once.expires],
    );
    if (used === undefined) return 'once-used';
  }
  await insertAll(tx, posting);
  return 'stored';
}

/** A new id is entered; a known one is compared. Two statements: one would not see a row committed meanwhile. */
async function takeName(tx: Tx, posting: Posting, name: NonNullable<Posting['name']>): Promise<PostOutcome> {
  const message = posting.messages[0] as NewMessage;
  const entered = await tx.get(
    `INSERT INTO message_name (dest, hash, message, content) VALUES ($1, $2, $3, $4)
     ON CONFLICT (dest, hash) DO NOTHING RETURNING message`,
    [posting.destination, name.hash, message.id, name.content],
  );
  if (entered !== undefined) return 'stored';
  const known = await tx.get<{ content: Buffer }>('SELECT content FROM message_name WHERE dest = $1 AND hash = $2', [
    posting.destination,
    name.hash,
  ]);
  return known?.content.equals(name.content) ? 'name-known' : 'name-taken';
}

/** Counts what waits, stopping one past the limit. Consumed and dead messages do not count. */
async function isFull(tx: Tx, posting: Posting, limits: NonNullable<Posting['limits']>): Promise<boolean> {
  let length = posting.messages.length;
  let bytes = posting.messages.reduce((sum, message) => sum + message.body.length, 0);
  for (const place of tx.dialect.places) {
    const counted =
      posting.kind === 'queue'
        ? `SELECT size FROM ${place.delivery} WHERE dest = $1 AND state = 0
           UNION ALL SELECT size FROM ${place.delivery} WHERE dest = $1 AND ${IS_ASIDE}`
        : `SELECT length(body) AS size FROM ${place.message} WHERE dest = $1 AND pos IS NOT NULL`;
    const row = await tx.get<{ length: number; bytes: number | null }>(
      `SELECT count(*) AS length, CAST(sum(size) AS BIGINT) AS bytes FROM (${counted} LIMIT $2) AS waiting`,
      [posting.destination, (limits.length ?? Number.MAX_SAFE_INTEGER - 1) + 1],
    );
    length += row?.length ?? 0;
    bytes += row?.bytes ?? 0;
  }
  return length > (limits.length ?? Number.POSITIVE_INFINITY) || bytes > (limits.bytes ?? Number.POSITIVE_INFINITY);
}

async function insertAll(tx: Tx, posting: Posting): Promise<void> {
  const { destination, kind, messages, name, posted } = posting;
  let position: number | null = null;
  if (kind === 'topic') {
    const row = await tx.get<{ last: number }>(
      'UPDATE topic_position SET last = last + $1 WHERE dest = $2 RETURNING last',
      [messages.length, destination],
    );
    position = (row?.last ?? 0) - messages.length;
  }
  const durable = tx.dialect.durableColumn;
  for (const message of messages) {
    if (position !== null) position++;
    const place = tx.dialect.placeOf(message.id);
    const flag = durable === undefined ? '' : `, ${!isVolatile(message.id)}`;
    const column = durable === undefined ? '' : `, ${durable}`;
    await tx.run(
      `INSERT INTO ${place.message} (id, dest, pos, posted, content_type, headers, name, body${column})
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8${flag})`,
      [
        message.id,
        destination,
        position,
        posted,
        message.contentType,
        message.headers,
        name?.text ?? null,
        message.body,
      ],
    );
    if (position !== null) continue;
    await tx.run(
      `INSERT INTO ${place.delivery} (id, dest, rank, ord, state, due, expires, tries, token, size${column})
       VALUES ($1, $2, $3, ${tx.dialect.nextArrival}, $4, $5, $6, 0, 0, $7${flag})`,
      [
        message.id,
        destination,
        message.rank,
        message.delayedUntil === null ? 0 : 2,
        message.delayedUntil,
        message.expires,
        message.body.length,
      ],
    );
  }
}
