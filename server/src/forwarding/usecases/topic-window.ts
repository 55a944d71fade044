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
/**
 * That nothing follows a position is told to all who ask within this time: thousands of subscribers come to the end of a
 * topic one after another, and each would read it in vain. What arrives meanwhile ends it at once; only an arrival whose
 * announcement was lost has to wait, and that waits for the next look anyway.
 */
const END_KEPT_MILLISECONDS = 500;

interface Stretch {
  /** All messages behind `from` up to the last one here. */
  readonly from: number;
  readonly messages: readonly StoredMessage[];
  readonly bytes: number;
  readonly until: number;
}

interface Reading {
  readonly found: Promise<readonly StoredMessage[]>;
  /** Something arrived since it began, which it may have missed. */
  isOutdated: boolean;
}

export function createTopicWindow(store: Store): TopicWindow {
  const stretches = new Map<number, Stretch>();
  /** Of each topic: what is being read, by the position behind which it begins. */
  const reading = new Map<number, Map<number, Reading>>();
  const ends = new Map<number, { readonly position: number; readonly until: number }>();
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
    const ofTopic = reading.get(topic) ?? new Map<number, Reading>();
    const present = ofTopic.get(position);
    if (present !== undefined) return present.found;
    const found = read(topic, position);
    const started: Reading = { found, isOutdated: false };
    ofTopic.set(position, started);
    reading.set(topic, ofTopic);
    const over = (messages: readonly StoredMessage[] | undefined): void => {
      if (started.isOutdated) return;
      ofTopic.delete(position);
      if (ofTopic.size === 0) reading.delete(topic);
      if (messages?.length === 0) ends.set(topic, { position, until: performance.now() + END_KEPT_MILLISECONDS });
    };
    found.then(over, () => over(undefined));
    return found;
  }

  function isEnd(topic: number, position: number): boolean {
    const end = ends.get(topic);
    if (end === undefined || position < end.position) return false;
    if (end.until > performance.now()) return true;
    ends.delete(topic);
    return false;
  }

  /** Whoever asks from now on gets an answer that was read after this arrival. */
  function forgetEnd(topic: number): void {
    ends.delete(topic);
    for (const started of reading.get(topic)?.values() ?? []) started.isOutdated = true;
    reading.delete(topic);
  }

  store.listen(({ arrived, everything }) => {
    if (everything) for (const topic of [...ends.keys(), ...reading.keys()]) forgetEnd(topic);
    for (const topic of arrived?.keys() ?? []) forgetEnd(topic);
  });

  return {
    async after(topic, position, max, all = false) {
      const known = fromMemory(topic, position, max);
      if (known.length >= max || (known.length > 0 && !all)) return known;
      const from = known.at(-1)?.position ?? position;
      if (isEnd(topic, from)) return known;
      const found = await readShared(topic, from);
      return known.length === 0 ? found.slice(0, max) : [...known, ...found].slice(0, max);
    },
  };
}
