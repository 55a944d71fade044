/**
 * Reads topics for many subscribers at once. Most of them stand near the newest message, so the last stretch of each busy
 * topic is kept for a moment and read from the store once, not once for each subscriber.
 */
import { messagesAfter } from '../../messaging/queries/topics.ts';
import type { Store, StoredMessage } from '../../store/store.ts';

export interface TopicWindow {
  /** Messages behind a position, in order: at least one when there is one, as many as there are when `all` are wanted. */
  after(topic: number, position: number, max: number, all?: boolean): Promise<readonly StoredMessage[]>;
}

const READ_AT_ONCE = 100;
const MOST_BYTES = 1024 * 1024;
/** All windows together. */
const ALL_BYTES = 32 * 1024 * 1024;
/** Messages may expire: what is older than this is read again. */
const KEPT_MILLISECONDS = 2000;

interface Stretch {
  /** All messages behind `from` up to the last one here. */
  readonly from: number;
  readonly messages: readonly StoredMessage[];
  readonly bytes: number;
  readonly until: number;
}

export function createTopicWindow(store: Store): TopicWindow {
  const stretches = new Map<number, Stretch>();
  const reading = new Map<string, Promise<readonly StoredMessage[]>>();
  let kept = 0;

  const lastOf = ({ from, messages }: Stretch): number => messages.at(-1)?.position ?? from;

  function forget(topic: number): void {
    kept -= stretches.get(topic)?.bytes ?? 0;
    stretches.delete(topic);
  }

  /** Joins what was read to what is kept, when the one begins where the other ends. */
  function keep(topic: number, position: number, read: readonly StoredMessage[]): void {
    const present = stretches.get(topic);
    if (read.length === 0 || (present !== undefined && lastOf(present) > position)) return;
    const joined = present !== undefined && lastOf(present) === position ? [...present.messages, ...read] : [...read];
    let from = present !== undefined && joined.length > read.length ? present.from : position;
    let bytes = joined.reduce((sum, { body }) => sum + body.length, 0);
    let first = 0;
    while (bytes > MOST_BYTES || joined.length - first > 2 * READ_AT_ONCE) {
      const dropped = joined[first++] as StoredMessage;
      bytes -= dropped.body.length;
      from = dropped.position ?? from;
      if (first === joined.length) {
        forget(topic);
        return;
      }
    }
    forget(topic);
    while (kept + bytes > ALL_BYTES) {
      const [oldest] = stretches.keys();
      if (oldest === undefined) break;
      forget(oldest);
    }
    kept += bytes;
    stretches.set(topic, { from, messages: joined.slice(first), bytes, until: performance.now() + KEPT_MILLISECONDS });
  }

  function fromMemory(topic: number, position: number, max: number): readonly StoredMessage[] {
    const stretch = stretches.get(topic);
    if (stretch === undefined || position < stretch.from) return [];
    if (stretch.until < performance.now()) {
      forget(topic);
      return [];
    }
    const { messages } = stretch;
    // Nearly always the end or the beginning is wanted; a search by halves finds either.
    let low = 0;
    let high = messages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((messages[middle]?.position ?? 0) > position) high = middle;
      else low = middle + 1;
    }
    return messages.slice(low, low + max);
  }

  async function read(topic: number, position: number): Promise<readonly StoredMessage[]> {
    const wanted = { max: READ_AT_ONCE, maxBytes: MOST_BYTES, now: store.now() };
    const found = await store.read((tx) => messagesAfter(tx, topic, position, wanted));
    keep(topic, position, found);
    return found;
  }

  /** Reads once for all who ask for the same at the same time. */
  function readShared(topic: number, position: number): Promise<readonly StoredMessage[]> {
    const key = `${topic} ${position}`;
    const present = reading.get(key);
    if (present !== undefined) return present;
    const started = read(topic, position).finally(() => reading.delete(key));
    reading.set(key, started);
    return started;
  }

  return {
    async after(topic, position, max, all = false) {
      const known = fromMemory(topic, position, max);
      if (known.length >= max || (known.length > 0 && !all)) return known;
      const found = await readShared(topic, known.at(-1)?.position ?? position);
      return known.length === 0 ? found.slice(0, max) : [...known, ...found].slice(0, max);
    },
  };
}
