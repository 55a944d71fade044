/** SQL of reading topics: one function per statement, the same text on both engines. */
import type { StoredMessage, Tx } from '../../store/store.ts';
import { type MessageRow, messagesById, toMessage } from './messages.ts';

export async function lastPosition(tx: Tx, topic: number): Promise<number | undefined> {
  return (await tx.get<{ last: number }>('SELECT last FROM topic_position WHERE dest = $1', [topic]))?.last;
}

/** The last positions of several topics. */
export async function lastPositions(tx: Tx, topics: readonly number[]): Promise<Map<number, number>> {
  const text = `SELECT dest, last FROM topic_position WHERE dest ${tx.dialect.inList('$1')}`;
  const rows = await tx.all<{ dest: number; last: number }>(text, [tx.dialect.list(topics)]);
  return new Map(rows.map(({ dest, last }) => [dest, last]));
}

const CONTENT = 'id, dest, pos, posted, content_type, headers, name, body';
const ALIVE = '(expires IS NULL OR expires > $2)';

interface Sized {
  readonly id: number;
  readonly pos: number;
  readonly size: number;
}

/** Messages behind a position, in order; the first whatever its size, the rest within the bytes. */
export async function messagesAfter(
  tx: Tx,
  topic: number,
  position: number,
  { max, maxBytes, now }: { max: number; maxBytes: number; now: number },
): Promise<StoredMessage[]> {
  if (max === 1) return oneMessage(tx, topic, now, 'pos > $3', [position], 'ASC');
  const found: Sized[] = [];
  for (const { message } of tx.dialect.places) {
    const text = `SELECT id, pos, length(body) AS size FROM ${message}
      WHERE dest = $1 AND pos IS NOT NULL AND pos > $3 AND ${ALIVE} ORDER BY pos LIMIT $4`;
    found.push(...(await tx.all<Sized>(text, [topic, now, position, max])));
  }
  found.sort((a, b) => a.pos - b.pos);
  let bytes = 0;
  const ids: number[] = [];
  for (const { id, size } of found.slice(0, max)) {
    bytes += size;
    if (ids.length > 0 && bytes > maxBytes) break;
    ids.push(id);
  }
  const messages = await messagesById(tx, ids);
  return ids.flatMap((id) => messages.get(id) ?? []);
}

export const oldestMessage = (tx: Tx, topic: number, now: number): Promise<StoredMessage[]> =>
  oneMessage(tx, topic, now, 'true', [], 'ASC');

export const newestMessage = (tx: Tx, topic: number, now: number): Promise<StoredMessage[]> =>
  oneMessage(tx, topic, now, 'true', [], 'DESC');

async function oneMessage(
  tx: Tx,
  topic: number,
  now: number,
  condition: string,
  values: number[],
  order: 'ASC' | 'DESC',
): Promise<StoredMessage[]> {
  const found: StoredMessage[] = [];
  for (const { message } of tx.dialect.places) {
    const text = `SELECT ${CONTENT} FROM ${message}
      WHERE dest = $1 AND pos IS NOT NULL AND ${ALIVE} AND ${condition} ORDER BY pos ${order} LIMIT 1`;
    const row = await tx.get<MessageRow>(text, [topic, now, ...values]);
    if (row !== undefined) found.push(toMessage(row));
  }
  const sign = order === 'ASC' ? 1 : -1;
  return found.sort((a, b) => sign * ((a.position ?? 0) - (b.position ?? 0))).slice(0, 1);
}
