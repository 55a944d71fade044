/**
 * Use cases of reading a topic: its ends, and what comes behind a position. Reading changes nothing, so readers that ask
 * for the same thing at the same time share one look at the store.
 */

import { MARK, type Sealer } from '../../ids.ts';
import { Problem } from '../../problems.ts';
import type { Store, StoredMessage, Tx } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import { lastPosition, messagesAfter, newestMessage, oldestMessage } from '../queries/topics.ts';
import { type Client, MAX_ANSWER_BYTES, type Waiting, type Wanted } from './waiting.ts';

/** Who waits, and for how many seconds. */
export interface Patience {
  readonly wait: number;
  readonly client: Client;
}

export interface Reading {
  /** The position behind the newest message, as clients see it. */
  position(topic: Destination): Promise<string>;
  positionOf(topic: Destination, message: StoredMessage): string;
  /** The position before all messages. */
  beginning(topic: Destination): string;
  /** The ends of a topic. With patience: while there is no message at all, the first that comes. */
  oldest(topic: Destination, patience?: Patience): Promise<StoredMessage | undefined>;
  newest(topic: Destination, patience?: Patience): Promise<StoredMessage | undefined>;
  /** What comes behind a position. `gap`: messages that stood between are not retained any more. */
  after(
    topic: Destination,
    position: string,
    wanted: Wanted,
    client: Client,
  ): Promise<{ messages: readonly StoredMessage[]; gap: boolean }>;
}

export function createReading(store: Store, waiting: Waiting, sealer: Sealer): Reading {
  const joinable = new Map<string, Promise<readonly StoredMessage[]>>();

  // Whoever comes after the news of a message must not join a look that began before: the news does not come again.
  store.listen(({ arrived, everything }) => {
    if (everything || (arrived?.size ?? 0) > 0) joinable.clear();
  });

  /**
   * Joins a look at the same place that was asked for in this turn of the event loop. Not an older one that is still
   * under way: it may not have seen what this reader has been told of since, on this node or another.
   */
  function join(key: string, look: (tx: Tx) => Promise<StoredMessage[]>): Promise<readonly StoredMessage[]> {
    const present = joinable.get(key);
    if (present !== undefined) return present;
    const close = (): void => {
      if (joinable.get(key) === fresh) joinable.delete(key);
    };
    const fresh = store.read(look).finally(close);
    joinable.set(key, fresh);
    setImmediate(close);
    return fresh;
  }

  function look({ id }: Destination, position: number, max: number): Promise<readonly StoredMessage[]> {
    const limits = { max, maxBytes: MAX_ANSWER_BYTES, now: store.now() };
    return join(`${id} ${position} ${max}`, (tx) => messagesAfter(tx, id, position, limits));
  }

  const end =
    (word: string, find: typeof oldestMessage): Reading['oldest'] =>
    async (topic, patience) => {
      const look = () => join(`${topic.id} ${word}`, (tx) => find(tx, topic.id, store.now()));
      if (patience === undefined) return (await look())[0];
      const { wait, client } = patience;
      return (await waiting.waitFor(topic, { wait, taking: false }, client, look))[0];
    };

  /** The word fits this topic alone: one of another would be read as a place that its reader was never at. */
  const wordOf = ({ name }: Destination, position: number): string =>
    sealer.seal(position) + sealer.mark(`topic ${name}`, position);

  async function open(topic: Destination, word: string): Promise<number> {
    const sealed = sealer.open(word.slice(0, -MARK));
    const position = sealed !== undefined && word === wordOf(topic, sealed) ? sealed : undefined;
    const last = position === undefined ? undefined : await store.read((tx) => lastPosition(tx, topic.id));
    if (position === undefined || last === undefined || position > last) {
      throw new Problem('not-found', `this is no position in the topic ${topic.name}; follow its next or first link`);
    }
    return position;
  }

  return {
    async position(topic) {
      return wordOf(topic, (await store.read((tx) => lastPosition(tx, topic.id))) ?? 0);
    },
    beginning: (topic) => wordOf(topic, 0),
    positionOf: (topic, { position }) => wordOf(topic, position ?? 0),
    oldest: end('oldest', oldestMessage),
    newest: end('newest', newestMessage),
    async after(topic, word, { max, wait }, client) {
      const position = await open(topic, word);
      const messages = await waiting.waitFor(topic, { wait, taking: false }, client, () => look(topic, position, max));
      const first = messages[0]?.position;
      return { messages, gap: first != null && first > position + 1 };
    },
  };
}
