/** The messaging area: its use cases over one store. */
import { MARK, type Sealer } from '../ids.ts';
import { Problem } from '../problems.ts';
import { hashOfId, type News, type Store, type StoredMessage } from '../store/store.ts';
import { fromBase36, toBase36 } from './base36.ts';
import type { Destination } from './destination.ts';
import { createOnceTokens } from './once-token.ts';
import {
  expireName,
  type FoundMessage,
  findMessage,
  findName,
  idWatermark,
  isMessage,
  lockMessage,
  removeMessages,
  withReadyMessages,
} from './queries/messages.ts';
import { lastPositions } from './queries/topics.ts';
import { type Clearing, createClearing } from './usecases/clearing.ts';
import { createDestinations, type Destinations } from './usecases/destinations.ts';
import type { Enlister } from './usecases/enlisting.ts';
import { createEvents, type Events } from './usecases/events.ts';
import { createOnce, type Once } from './usecases/once.ts';
import { createPosting, type Posting } from './usecases/posting.ts';
import { createReading, type Reading } from './usecases/reading.ts';
import { createReceiving, type Receiving } from './usecases/receiving.ts';
import { createRedelivery, type Step } from './usecases/redelivery.ts';
import { createWaiters, type Waiters } from './usecases/waiters.ts';
import { createWaiting } from './usecases/waiting.ts';

export interface MessagingOptions {
  readonly autoCreate: boolean;
  readonly maxWaiting: number;
  /** Milliseconds a client-chosen id is remembered after its message left. */
  readonly rememberIds: number;
  /** Milliseconds a create-next link lives. */
  readonly onceLifetime: number;
  readonly enlister: Enlister;
}

export interface Messaging {
  readonly destinations: Destinations;
  readonly posting: Posting;
  readonly once: Once;
  readonly receiving: Receiving;
  readonly reading: Reading;
  readonly clearing: Clearing;
  readonly events: Events;
  readonly redelivery: { step(): Promise<Step> };
  readonly waiters: Waiters;
  readonly now: () => number;
  /** The id clients know a message by. */
  publicId(message: Pick<StoredMessage, 'id' | 'name'>): string;
  /** The word for a delivery of a message, which shows by itself that it was given out for this one. */
  deliveryWord(queue: Destination, publicId: string, token: number): string;
  /** The token of such a word; undefined when this message was never delivered under it. */
  tokenOf(queue: Destination, publicId: string, word: string): number | undefined;
  /** A retained message by that id. Throws 404, or 410 when it was there once. */
  read(destination: Destination, publicId: string): Promise<FoundMessage>;
  /** The number of a message whose id this is; it may be gone. */
  idOf(destination: Destination, publicId: string): Promise<number>;
  /** Takes a message off its queue for good. `check` sees it as it is then, and may throw. */
  remove(queue: Destination, publicId: string, check: (found: FoundMessage) => void): Promise<void>;
  /** Calls back with the time at which something made here becomes due: the end of a delay or of a lease. */
  onScheduled(listener: (at: number) => void): void;
  /** Makes up for announcements that were missed: wakes waiters, and forgets what has changed. Called once a second. */
  lookForMissed(): Promise<void>;
}

/** How many waiters of one queue are woken at a time for messages whose announcement was missed. */
const MOST_MISSED = 100;

/** The word of a delivery: a mark, and the token. */
const DELIVERY = /^[0-9a-z]{7,16}$/;

export function createMessaging(store: Store, sealer: Sealer, options: MessagingOptions): Messaging {
  const destinations = createDestinations(store);
  const waiters = createWaiters(options.maxWaiting);
  const waiting = createWaiting(waiters);
  const scheduled: ((at: number) => void)[] = [];
  const schedule = (at: number): void => {
    for (const listener of scheduled) listener(at);
  };
  const posting = createPosting(store, destinations, sealer, {
    autoCreate: options.autoCreate,
    schedule,
    enlister: options.enlister,
  });

  store.listen(({ arrived, changed, everything }: News) => {
    for (const [destination, count] of arrived ?? []) waiters.wake(destination, count);
    if (everything) waiters.wakeAll();
    for (const destination of changed ?? []) waiters.dismiss(destination);
  });

  /** The number of a message, and whether its id is one that stands or once stood for a message. */
  async function resolve(destination: Destination, publicId: string): Promise<{ id: number; known: boolean }> {
    const found = await store.read(async (tx) => {
      const named = await findName(tx, destination.id, hashOfId(publicId));
      if (named !== undefined) return { id: named.message, known: true };
      const id = sealer.open(publicId);
      return id === undefined ? undefined : { id, known: Math.floor(id / 2) < (await idWatermark(tx)) };
    });
    if (found !== undefined) return found;
    throw new Problem('unknown-message', `there is no such message in ${destination.name}`);
  }

  const idOf = async (destination: Destination, publicId: string): Promise<number> =>
    (await resolve(destination, publicId)).id;

  async function read(destination: Destination, publicId: string): Promise<FoundMessage> {
    const { id, known } = await resolve(destination, publicId);
    const { found, isElsewhere } = await store.read(async (tx) => {
      const found = await findMessage(tx, destination.id, id);
      return { found, isElsewhere: found === undefined && (await isMessage(tx, id)) };
    });
    if (found !== undefined && !found.delivery?.isUnborn) return found;
    if (known && found === undefined && !isElsewhere)
      throw new Problem('message-gone', 'the message was here and is gone');
    throw new Problem('unknown-message', `there is no such message in ${destination.name}`);
  }

  const deliveryMark = ({ id }: Destination, publicId: string, token: number): string =>
    sealer.mark(`${id}/${publicId}`, token);

  /** The last position of each topic with waiters, to notice what was posted without an announcement. */
  let seen = new Map<number, number>();

  return {
    destinations,
    waiters,
    posting,
    once: createOnce(store, posting, createOnceTokens(store.secret), options.onceLifetime),
    receiving: createReceiving(store, waiting, schedule, options.enlister, {
      guess: sealer.open,
      find: idOf,
    }),
    reading: createReading(store, waiting, sealer),
    events: createEvents(store, destinations),
    clearing: createClearing(store, options.rememberIds),
    redelivery: createRedelivery(store),
    now: store.now,
    onScheduled: (listener) => void scheduled.push(listener),
    publicId: ({ id, name }) => name ?? sealer.seal(id),
    deliveryWord: (queue, publicId, token) => deliveryMark(queue, publicId, token) + toBase36(token),
    tokenOf(queue, publicId, word) {
      if (!DELIVERY.test(word)) return undefined;
      const mark = word.slice(0, MARK);
      const token = fromBase36(word.slice(MARK));
      // Nobody was given one that begins with a zero. What was never delivered has the token 0: no delivery does, and nobody
      // may settle in its name.
      if (word[MARK] === '0' || !Number.isSafeInteger(token)) return undefined;
      // Words of the version before had a mark of their queue alone; whoever holds one still gets his verdict through.
      const isOurs = mark === deliveryMark(queue, publicId, token) || mark === sealer.seal(queue.id).slice(-MARK);
      return isOurs ? token : undefined;
    },
    read,
    idOf,
    async remove(queue, publicId, check) {
      const { message } = await read(queue, publicId);
      const forget = store.now() + options.rememberIds;
      const removed = await store.transaction(async (tx) => {
        const present = await lockMessage(tx, queue.id, message.id);
        if (present !== undefined) check(present);
        const gone = await removeMessages(tx, [message.id]);
        for (const { name } of gone) if (name !== null) await expireName(tx, queue.id, hashOfId(name), forget);
        return gone.length > 0;
      });
      if (!removed) throw new Problem('message-gone', 'the message was here and is gone');
    },
    async lookForMissed() {
      await destinations.refresh();
      const waitedFor = waiters.destinations();
      if (waitedFor.length === 0) return;
      const { ready, positions } = await store.read(async (tx) => ({
        ready: await withReadyMessages(tx, waitedFor, MOST_MISSED),
        positions: await lastPositions(tx, waitedFor),
      }));
      for (const destination of waitedFor) {
        const count = ready.get(destination);
        // Deleted between a waiter's look-up and its waiting, or by a node whose announcement was lost.
        if (count === undefined) waiters.dismiss(destination);
        else if (count > 0) waiters.wake(destination, count);
      }
      for (const [topic, last] of positions) if (seen.get(topic) !== last) waiters.wake(topic, 1);
      seen = positions;
    },
  };
}
