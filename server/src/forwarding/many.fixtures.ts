/** The forwarding area by itself on a real store, with every statement counted that it sends there. */
import type { Engine } from '../../../testing/engines.ts';
import { LOOPBACK } from '../http/outbound/addresses.ts';
import { createOutbound } from '../http/outbound/outbound.ts';
import { createSealer, newToken } from '../ids.ts';
import type { Destination } from '../messaging/destination.ts';
import { createMessaging, type Messaging } from '../messaging/messaging.ts';
import { createNodes } from '../nodes/nodes.ts';
import { createOperator } from '../operator/operator.ts';
import { openStore } from '../store/open.ts';
import type { Store, Tx } from '../store/store.ts';
import { createForwarding } from './forwarding.ts';
import { insertSubscriber } from './queries/subscribers.ts';
import type { Registration } from './subscriber.ts';
import type { Subscribers } from './usecases/subscribers.ts';
import { createNotices } from './views/notices.ts';
import { createOutgoing } from './views/outgoing.ts';

/** The statements that were sent, and who wants to hear of the next one. */
export interface Counted {
  readonly texts: string[];
  onText: (text: string) => void;
}

/** The same store, whose statements are counted. */
export function counting(store: Store, counted: Counted): Store {
  function count(text: string): string {
    counted.texts.push(text);
    counted.onText(text);
    return text;
  }
  const counter = (tx: Tx): Tx => ({
    dialect: tx.dialect,
    all: (text, values) => tx.all(count(text), values),
    get: (text, values) => tx.get(count(text), values),
    run: (text, values) => tx.run(count(text), values),
    finish: (text, values) => tx.finish(count(text), values),
  });
  return {
    ...store,
    transaction: (job) => store.transaction((tx) => job(counter(tx))),
    read: (job) => store.read((tx) => job(counter(tx))),
    snapshot: (job) => store.snapshot((tx) => job(counter(tx))),
  };
}

export interface Yard {
  readonly messaging: Messaging;
  readonly subscribers: Subscribers;
  readonly counted: Counted;
  /** Subscribers that no node serves yet. */
  subscribe(destination: Destination, targets: readonly Pick<Registration, 'rel' | 'href'>[]): Promise<void>;
  /** How many of a destination's messages the store knows to be forwarded. */
  forwarded(destination: Destination): Promise<number>;
  start(): Promise<void>;
  close(): Promise<void>;
}

const HOUR = 3_600_000;

export async function openYard({ database }: Engine): Promise<Yard> {
  const { options, drop } = await database();
  const location = {
    database: 'database' in options ? options.database : undefined,
    folder: 'data' in options ? options.data : '',
    reserveBytes: 0,
  };
  const store = await openStore(location, () => {});
  const counted: Counted = { texts: [], onText: () => {} };
  const sealer = createSealer(store.secret);
  const fail = (error: unknown): void => {
    throw error;
  };
  const nodes = createNodes({
    store,
    place: () => ({ name: 'here', process: process.pid }),
    isOtherRunning: () => false,
    isAlone: true,
    onError: fail,
  });
  const messaging = createMessaging(store, sealer, {
    autoCreate: false,
    maxWaiting: 1,
    rememberIds: HOUR,
    onceLifetime: HOUR,
    enlister: { enlist: () => Promise.reject(new Error('there are no transactions here')) } as never,
  });
  const outbound = createOutbound({ allow: LOOPBACK });
  const forwarding = createForwarding({
    ...{ store: counting(store, counted), membership: nodes.membership, sealer, outbound },
    operator: createOperator(store, messaging.events, sealer, (notice) => `/notices/${notice}`),
    ...createOutgoing({ base: () => 'http://127.0.0.1', publicId: messaging.publicId }),
    notices: createNotices(({ id }) => sealer.seal(id)),
    fields: [],
    urlOf: (href) => href,
    pathOf: () => undefined,
    patience: HOUR,
    maxSubscribers: 100_000,
    onError: fail,
  });

  return {
    messaging,
    subscribers: forwarding.subscribers,
    counted,
    async subscribe({ id: destination, kind }, targets) {
      const made = { destination, kind, secret: null, created: store.now(), position: 0, owner: null };
      await store.transaction(async (tx) => {
        for (const target of targets) {
          const own = { ...target, id: store.nextId(), token: newToken(), configured: false };
          await insertSubscriber(tx, { ...made, ...own });
        }
      });
    },
    async forwarded({ id }) {
      const text = 'SELECT CAST(sum(forwarded) AS BIGINT) AS sum FROM subscriber WHERE dest = $1';
      return Number((await store.read((tx) => tx.get<{ sum: number | null }>(text, [id])))?.sum ?? 0);
    },
    async start() {
      await nodes.start();
      await forwarding.start();
    },
    async close() {
      await forwarding.stop();
      await nodes.stop();
      await outbound.close();
      await store.close();
      await drop();
    },
  };
}
