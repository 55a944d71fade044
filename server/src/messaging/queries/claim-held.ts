/** Claims for a transaction: it holds the messages until it ends. Not a hot path, so one text for both engines. */
import type { ClaimedMessage, Tx } from '../../store/store.ts';
import { messagesById } from './messages.ts';

interface Head {
  readonly id: number;
  readonly rank: number;
  readonly ord: number;
  readonly size: number;
  readonly tries: number;
}

export async function claimHeld(
  tx: Tx,
  queue: number,
  held: number,
  { max, maxBytes, now, token }: { max: number; maxBytes: number; now: number; token: number },
): Promise<ClaimedMessage[]> {
  const heads: Head[] = [];
  for (const { delivery } of tx.dialect.places) {
    const text = `SELECT id, rank, ord, size, tries FROM ${delivery}
      WHERE dest = $1 AND state = 0 AND (expires IS NULL OR expires > $2)
      ORDER BY rank, ord LIMIT $3 ${tx.dialect.skipLocked}`;
    heads.push(...(await tx.all<Head>(text, [queue, now, max])));
  }
  heads.sort((a, b) => a.rank - b.rank || a.ord - b.ord);
  const taken: Head[] = [];
  let bytes = 0;
  for (const head of heads.slice(0, max)) {
    bytes += head.size;
    if (taken.length > 0 && bytes > maxBytes) break;
    const text = `UPDATE ${tx.dialect.placeOf(head.id).delivery}
      SET state = 4, due = NULL, tries = tries + 1, token = $2, tx = $3 WHERE id = $1`;
    await tx.run(text, [head.id, token, held]);
    taken.push(head);
  }
  const messages = await messagesById(
    tx,
    taken.map(({ id }) => id),
  );
  return taken.flatMap(({ id, tries }) => {
    const message = messages.get(id);
    return message === undefined ? [] : [{ ...message, deliveries: tries + 1, token }];
  });
}
