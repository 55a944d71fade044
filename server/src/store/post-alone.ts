/**
 * Posting in a transaction of its own, one SQL text for both engines: for what cannot be decided by one statement over
 * many postings. Everything else takes the hot path.
 */
import { countForLimits, hasRoom, type Limits } from './limits.ts';
import { isVolatile, type MessageName, type NewMessage, type Posting, type PostOutcome, type Tx } from './store.ts';

/** A client-chosen id, a limit, a batch under a once-only link, a topic's message that gets its position later. */
export function mustPostAlone({ name, limits, once, kind, messages }: Posting): boolean {
  if (name !== undefined || limits !== undefined || once?.batch) return true;
  return kind === 'topic' && messages.some((message) => message.delayedUntil !== null);
}

/** A chain is remembered as long as any of its links: one that was used may have been issued for longer than the next. */
const LONGER = 'CASE WHEN once_chain.expires > excluded.expires THEN once_chain.expires ELSE excluded.expires END';

export async function postAlone(tx: Tx, posting: Posting): Promise<PostOutcome> {
  const { destination, limits, name, once } = posting;
  // The destination's row is the root: a limit is counted by one poster at a time, a deletion waits or is seen.
  const lock = limits === undefined ? tx.dialect.forShare : tx.dialect.forUpdate;
  if ((await tx.get(`SELECT id FROM destination WHERE id = $1 ${lock}`, [destination])) === undefined) {
    return 'no-destination';
  }
  if (limits !== undefined) {
    // Counted before anything is written, so that a refusal leaves no trace; a repeat is a repeat, room or not.
    const before = await postedBefore(tx, posting);
    if (before !== undefined) return before;
    if (await isFull(tx, posting, limits)) return 'full';
  }
  if (name !== undefined) {
    const outcome = await takeName(tx, posting, name);
    if (outcome !== 'stored') return outcome;
  }
  if (once !== undefined) {
    const used = await tx.get(
      `INSERT INTO once_chain (chain, n, expires) VALUES ($1, $2, $3)
       ON CONFLICT (chain) DO UPDATE SET n = excluded.n, expires = ${LONGER}
       WHERE once_chain.n = excluded.n - 1 RETURNING n`,
      [once.chain, once.n, once.expires],
    );
    if (used === undefined) return 'once-used';
    if (once.batch) {
      const ids = JSON.stringify(posting.messages.map(({ id }) => id));
      await tx.run('INSERT INTO once_batch (chain, n, messages) VALUES ($1, $2, $3)', [once.chain, once.n, ids]);
    }
  }
  await insertAll(tx, posting);
  return 'stored';
}

/** What is known of the id or the link already. */
async function postedBefore(tx: Tx, { destination, name, once }: Posting): Promise<PostOutcome | undefined> {
  const known = name && (await findContent(tx, destination, name));
  if (known !== undefined) return outcomeOfRepeat(known, name);
  const used = once && (await tx.get<{ n: number }>('SELECT n FROM once_chain WHERE chain = $1', [once.chain]));
  return used !== undefined && once !== undefined && used.n >= once.n ? 'once-used' : undefined;
}

async function findContent(tx: Tx, destination: number, { hash }: MessageName): Promise<Buffer | undefined> {
  const text = 'SELECT content FROM message_name WHERE dest = $1 AND hash = $2';
  return (await tx.get<{ content: Buffer }>(text, [destination, hash]))?.content;
}

const outcomeOfRepeat = (known: Buffer, name: MessageName | undefined): PostOutcome =>
  name !== undefined && known.equals(name.content) ? 'name-known' : 'name-taken';

/** A new id is entered; a known one is compared. Two statements: one would not see a row committed meanwhile. */
async function takeName(tx: Tx, posting: Posting, name: MessageName): Promise<PostOutcome> {
  const message = posting.messages[0] as NewMessage;
  const entered = await tx.get(
    `INSERT INTO message_name (dest, hash, message, content) VALUES ($1, $2, $3, $4)
     ON CONFLICT (dest, hash) DO NOTHING RETURNING message`,
    [posting.destination, name.hash, message.id, name.content],
  );
  if (entered !== undefined) return 'stored';
  const known = await findContent(tx, posting.destination, name);
  // Forgotten between the two statements: the id is free.
  return known === undefined ? takeName(tx, posting, name) : outcomeOfRepeat(known, name);
}

async function isFull(tx: Tx, posting: Posting, limits: Limits): Promise<boolean> {
  const waiting = await countForLimits(tx, posting, limits);
  const bytes = posting.messages.reduce((sum, message) => sum + message.body.length, waiting.bytes);
  return !hasRoom({ length: waiting.length + posting.messages.length, bytes }, limits);
}

async function insertAll(tx: Tx, posting: Posting): Promise<void> {
  const { destination, kind, messages, held } = posting;
  const hasPosition = (message: NewMessage): boolean =>
    kind === 'topic' && message.delayedUntil === null && held === undefined;
  const visible = messages.filter(hasPosition).length;
  let position = 0;
  if (visible > 0) {
    const row = await tx.get<{ last: number }>(
      'UPDATE topic_position SET last = last + $1 WHERE dest = $2 RETURNING last',
      [visible, destination],
    );
    position = (row?.last ?? 0) - visible;
  }
  for (const message of messages) {
    const isPlaced = hasPosition(message);
    if (isPlaced) position++;
    await insertMessage(tx, posting, message, isPlaced ? position : null);
    if (held !== undefined) await holdMessage(tx, posting, message, held);
    else if (!isPlaced) await insertDelivery(tx, destination, message);
  }
}

/** The column and value that say whether a message is durable, where the engine keeps both kinds in one table. */
function durability(tx: Tx, { id }: NewMessage): { column: string; value: string } {
  const name = tx.dialect.durableColumn;
  return name === undefined ? { column: '', value: '' } : { column: `, ${name}`, value: `, ${!isVolatile(id)}` };
}

async function insertMessage(tx: Tx, posting: Posting, message: NewMessage, position: number | null): Promise<void> {
  const { column, value } = durability(tx, message);
  const life = posting.kind === 'topic' ? message.expires : null;
  await tx.run(
    `INSERT INTO ${tx.dialect.placeOf(message.id).message}
       (id, dest, pos, posted, content_type, headers, name, expires, body${column})
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9${value})`,
    [
      message.id,
      posting.destination,
      position,
      posting.posted,
      message.contentType,
      message.headers,
      posting.name?.text ?? null,
      life,
      message.body,
    ],
  );
}

async function insertDelivery(tx: Tx, destination: number, message: NewMessage): Promise<void> {
  const { column, value } = durability(tx, message);
  const { id, rank, delayedUntil, expires, body } = message;
  await tx.run(
    `INSERT INTO ${tx.dialect.placeOf(id).delivery}
       (id, dest, rank, ord, state, due, expires, tries, token, size${column})
     VALUES ($1, $2, $3, ${tx.dialect.nextArrival}, $4, $5, $6, 0, 0, $7${value})`,
    [id, destination, rank, delayedUntil === null ? 0 : 2, delayedUntil, expires, body.length],
  );
}

/**
 * Its place in the order comes with the commit; until then a negative one tells in which order the transaction's messages
 * were posted. What it took that a rollback must free again is noted.
 */
async function holdMessage(tx: Tx, posting: Posting, message: NewMessage, held: number): Promise<void> {
  const { destination, kind, name, once } = posting;
  const { column, value } = durability(tx, message);
  await tx.run(
    `INSERT INTO ${tx.dialect.placeOf(message.id).delivery}
       (id, dest, rank, ord, state, due, expires, tries, token, size, tx${column})
     VALUES ($1, $2, $3, -(${tx.dialect.nextArrival}), 4, NULL, $4, 0, 0, $5, $6${value})`,
    [message.id, destination, message.rank, message.expires, message.body.length, held],
  );
  await tx.run(
    `INSERT INTO txn_message (txn, message, dest, topic, name_hash, chain, link, delayed)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      held,
      message.id,
      destination,
      kind === 'topic' ? 1 : 0,
      name?.hash ?? null,
      once?.chain ?? null,
      once?.n ?? null,
      message.delayedUntil,
    ],
  );
}
