/** SQL of messages that a transaction holds: posted but not visible, or taken but not acknowledged. */
import { timeAfter } from '../../messaging/message.ts';
import { findDestinationById } from '../../messaging/queries/destinations.ts';
import { giveTopicPosition } from '../../messaging/queries/redelivery.ts';
import type { Tx } from '../../store/store.ts';

interface HeldPost {
  readonly message: number;
  readonly dest: number;
  readonly topic: number;
  readonly name_hash: Buffer | null;
  readonly chain: number | null;
  readonly link: number | null;
  readonly delayed: number | null;
}

/**
 * By destination, in the order in which all transactions lock topics, and then as they were posted: what is not visible
 * has its arrival as a negative place in the order. What is held is always durable, so it lies in one place.
 */
const postsOf = (tx: Tx, transaction: number): Promise<HeldPost[]> =>
  tx.all<HeldPost>(
    `SELECT h.message, h.dest, h.topic, h.name_hash, h.chain, h.link, h.delayed
     FROM txn_message h LEFT JOIN ${tx.dialect.placeOf(0).delivery} d ON d.id = h.message
     WHERE h.txn = $1 ORDER BY h.dest, d.ord DESC, h.message`,
    [transaction],
  );

/** Whether every destination that a held message is meant for is still there. */
export async function destinationsExist(tx: Tx, transaction: number): Promise<boolean> {
  const missing = await tx.get(
    `SELECT 1 AS found FROM txn_message WHERE txn = $1
       AND NOT EXISTS (SELECT 1 FROM destination WHERE destination.id = txn_message.dest) LIMIT 1`,
    [transaction],
  );
  return missing === undefined;
}

export async function holdsAnything(tx: Tx, transaction: number): Promise<boolean> {
  if ((await tx.get('SELECT 1 AS found FROM txn_message WHERE txn = $1 LIMIT 1', [transaction])) !== undefined)
    return true;
  for (const { delivery } of tx.dialect.places) {
    if ((await tx.get(`SELECT 1 AS found FROM ${delivery} WHERE tx = $1 LIMIT 1`, [transaction])) !== undefined)
      return true;
  }
  return false;
}

/** What was taken is acknowledged, and kept as long as its queue keeps what was consumed. */
async function acknowledgeTaken(tx: Tx, transaction: number, now: number): Promise<void> {
  for (const { delivery } of tx.dialect.places) {
    const queues = await tx.all<{ dest: number }>(
      `SELECT DISTINCT dest FROM ${delivery} WHERE tx = $1 AND state = 4 AND ord > 0`,
      [transaction],
    );
    for (const { dest } of queues) {
      const retention = (await findDestinationById(tx, dest))?.effective.retention ?? 0;
      await tx.run(
        `UPDATE ${delivery} SET state = 5, due = $3, tx = NULL WHERE tx = $1 AND dest = $2 AND state = 4 AND ord > 0`,
        [transaction, dest, timeAfter(now, retention)],
      );
    }
  }
}

/** What was posted becomes visible, in the order it was posted; what was taken is acknowledged. Gives what arrived where. */
export async function releaseAll(tx: Tx, transaction: number, now: number): Promise<Map<number, number>> {
  const arrived = new Map<number, number>();
  await acknowledgeTaken(tx, transaction, now);
  const posts = await postsOf(tx, transaction);
  for (const { message, dest, topic, delayed } of posts) {
    const { delivery } = tx.dialect.placeOf(message);
    const isDelayed = delayed !== null && delayed > now;
    if (topic === 1 && !isDelayed) await giveTopicPosition(tx, dest, { id: message }, now);
    else {
      await tx.run(
        `UPDATE ${delivery} SET state = $2, due = $3, ord = ${tx.dialect.nextArrival}, tx = NULL WHERE id = $1`,
        [message, isDelayed ? 2 : 0, isDelayed ? delayed : null],
      );
    }
    if (!isDelayed) arrived.set(dest, (arrived.get(dest) ?? 0) + 1);
  }
  await tx.run('DELETE FROM txn_message WHERE txn = $1', [transaction]);
  return arrived;
}

/** What was posted is gone, its id and its once-link free again; what was taken is back in its place. */
export async function undoAll(tx: Tx, transaction: number): Promise<Map<number, number>> {
  const arrived = new Map<number, number>();
  for (const { message, dest, name_hash, chain, link } of await postsOf(tx, transaction)) {
    const place = tx.dialect.placeOf(message);
    await tx.run(`DELETE FROM ${place.delivery} WHERE id = $1`, [message]);
    await tx.run(`DELETE FROM ${place.message} WHERE id = $1`, [message]);
    if (name_hash !== null) {
      await tx.run('DELETE FROM message_name WHERE dest = $1 AND hash = $2 AND message = $3', [
        dest,
        name_hash,
        message,
      ]);
    }
    if (chain !== null && link !== null) {
      // The link counts as unused: the chain is back at the one before it.
      await tx.run('UPDATE once_chain SET n = $2 - 1 WHERE chain = $1 AND n = $2', [chain, link]);
      await tx.run('DELETE FROM once_batch WHERE chain = $1 AND n = $2', [chain, link]);
    }
  }
  await tx.run('DELETE FROM txn_message WHERE txn = $1', [transaction]);
  for (const { delivery } of tx.dialect.places) {
    const text = `UPDATE ${delivery} SET state = 0, due = NULL, tx = NULL WHERE tx = $1 AND state = 4 RETURNING dest`;
    for (const { dest } of await tx.all<{ dest: number }>(text, [transaction])) {
      arrived.set(dest, (arrived.get(dest) ?? 0) + 1);
    }
  }
  return arrived;
}
