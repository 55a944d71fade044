/** The messaging area: its use cases over one store. */
import { createSealer, type Sealer } from '../ids.ts';
import { Problem } from '../problems.ts';
import { HELD, type News, type Store, type StoredMessage } from '../store/store.ts';
import type { Destination } from './destination.ts';
import { hashOfId, type MessageState } from './message.ts';
import {
  expireName,
  type FoundMessage,
  findMessage,
  findName,
  idWatermark,
  removeMessage,
  withReadyMessages,
} from './queries/messages.ts';
import { createDestinations, type Destinations } from './usecases/destinations.ts';
import { createPosting, type Posting } from './usecases/posting.ts';
import { createReceiving, type Receiving } from './usecases/receiving.ts';
import { createWaiters, type Waiters } from './usecases/waiters.ts';
import type { MessageView } from './views/messages.ts';

export interface MessagingOptions {
  readonly autoCreate: boolean;
  readonly maxWaiting: number;
  /** Milliseconds a client-chosen id is remembered after its message left. */
  readonly rememberIds: number;
}

export interface Messaging {
  readonly destinations: Destinations;
  readonly posting: Posting;
  readonly receiving: Receiving;
  readonly waiters: Waiters;
  readonly now: () => number;
  /** What the views show of a message. */
  view(destination: Destination, message: StoredMessage, state: MessageState, deliveries: number): MessageView;
  publicId(message: Pick<StoredMessage, 'id' | 'name'>): string;
  /** A retained message by the id clients know it by. Throws 404, or 410 when it was there once. */
  read(destination: Destination, publicId: string): Promise<FoundMessage>;
  /** Takes a message off its queue for good. */
  remove(queue: Destination, publicId: string): Promise<void>;
  /** Calls back with the time at which something made here becomes due: the end of a delay or of a lease. */
  onScheduled(listener: (at: number) => void): void;
  /** Wakes waiters that missed an announcement. Called once a second. */
  lookForMissed(): Promise<void>;
}

export function createMessaging(store: Store, options: MessagingOptions): Messaging {
  const sealer: Sealer = createSealer(store.secret);
  const publicId: Messaging['publicId'] = ({ id, name }) => name ?? sealer.seal(id);
  const destinations = createDestinations(store);
  const waiters = createWaiters(options.maxWaiting);
  const scheduled: ((at: number) => void)[] = [];
  const schedule = (at: number): void => {
    for (const listener of scheduled) listener(at);
  };

  store.listen(({ arrived, everything }: News) => {
    for (const [destination, count] of arrived ?? []) waiters.wake(destination, count);
    if (everything) for (const destination of waiters.destinations()) waiters.wakeAll(destination);
  });

  /** The number of a message, and whether its id is one that stands or once stood for a message. */
  async function resolve(
    destination: Destination,
    publicId: string,
  ): Promise<{ id: number | undefined; known: boolean }> {
    return store.read(async (tx) => {
      const named = await findName(tx, destination.id, hashOfId(publicId));
      if (named !== undefined) return { id: named.message, known: true };
      const id = sealer.open(publicId);
      return { id, known: id !== undefined && Math.floor(id / 2) < (await idWatermark(tx)) };
    });
  }

  async function read(destination: Destination, publicId: string): Promise<FoundMessage> {
    const { id, known } = await resolve(destination, publicId);
    const found = id === undefined ? undefined : await store.read((tx) => findMessage(tx, destination.id, id));
    if (found !== undefined && found.delivery?.state !== HELD) return found;
    if (known && found === undefined) throw new Problem('message-gone', 'the message was here and is gone');
    throw new Problem('unknown-message', `there is no such message in ${destination.name}`);
  }

  return {
    destinations,
    waiters,
    posting: createPosting(store, destinations, sealer, { autoCreate: options.autoCreate, schedule }),
    receiving: createReceiving(store, waiters),
    now: store.now,
    onScheduled: (listener) => void scheduled.push(listener),
    publicId,
    view: (destination, message, state, deliveries) => ({
      message,
      destination,
      publicId: publicId(message),
      state,
      deliveries,
    }),
    read,
    async remove(queue, publicId) {
      const { message } = await read(queue, publicId);
      const forget = store.now() + options.rememberIds;
      const removed = await store.transaction(async (tx) => {
        if (!(await removeMessage(tx, message.id))) return false;
        if (message.name !== null) await expireName(tx, queue.id, hashOfId(message.name), forget);
        return true;
      });
      if (!removed) throw new Problem('message-gone', 'the message was here and is gone');
    },
    async lookForMissed() {
      const waiting = waiters.destinations();
      if (waiting.length === 0) return;
      const ready = await store.read((tx) => withReadyMessages(tx, waiting));
      for (const destination of ready) waiters.wake(destination, 1);
    },
  };
}
