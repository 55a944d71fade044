/** Composes the service. The program and the tests start the same thing. */
import { readFileSync } from 'node:fs';
import type { Options } from './config.ts';
import { createConsumerArea } from './consumers/consumers.ts';
import { consumerRoutes } from './consumers/routes.ts';
import { addresses as consumerAddresses } from './consumers/views/consumers.ts';
import { createDuties } from './duties/duties.ts';
import { createTerminator } from './duties/terminate.ts';
import { createForwarding } from './forwarding/forwarding.ts';
import { forwardingRoutes } from './forwarding/routes.ts';
import { createNotices } from './forwarding/views/notices.ts';
import { createOutgoing } from './forwarding/views/outgoing.ts';
import { createLocalUris } from './http/base-url.ts';
import { createBodyReader } from './http/body.ts';
import { createCors } from './http/cors.ts';
import { type Listener, listen } from './http/listener.ts';
import { LOOPBACK } from './http/outbound/addresses.ts';
import { createOutbound } from './http/outbound/outbound.ts';
import { createRouter } from './http/router.ts';
import { createSealer } from './ids.ts';
import type { Logger } from './log.ts';
import { createMessaging } from './messaging/messaging.ts';
import { messagingRoutes } from './messaging/routes.ts';
import { createNodes } from './nodes/nodes.ts';
import { isOtherRunning, placeOf } from './nodes/place.ts';
import { createOperator } from './operator/operator.ts';
import { operatorRoutes } from './operator/routes.ts';
import { paths } from './paths.ts';
import { createReservationPaths } from './reservations/addresses.views.ts';
import { createReservations } from './reservations/reservations.ts';
import { reservationRoutes } from './reservations/routes.ts';
import { serviceRoutes } from './service/routes.ts';
import { openStore } from './store/open.ts';
import { createTransactionPaths } from './transactions/addresses.views.ts';
import { transactionRoutes } from './transactions/routes.ts';
import { readTransactionState } from './transactions/state-document.ts';
import { createTransactionManager } from './transactions/usecases/manager.ts';
import { createTransactionMessages } from './transactions/usecases/messages.ts';
import { createParticipants } from './transactions/usecases/participants.ts';

export interface Waypost {
  /** The address it listens on. */
  readonly url: string;
  close(): Promise<void>;
}

export const VERSION: string = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

/** What is still in flight after this long is cut off; the program has ended within ten seconds. */
const DRAIN_MILLISECONDS = 8000;
const TERMINATE = 'terminate in bulk';

export async function startWaypost(options: Options, log: Logger): Promise<Waypost> {
  const startedAt = performance.now();
  const location = { database: options.database, folder: options.data, reserveBytes: options['disk-reserve'] };
  const store = await openStore(location, (event, details) => log.warn(details ?? {}, event));
  const sealer = createSealer(store.secret);
  let listener: Listener | undefined;
  const addresses = (): readonly string[] => listener?.addresses ?? [];
  const localPath = createLocalUris(options['base-url'], addresses);
  const outbound = createOutbound({
    allow: [...options['outbound-allow'], ...(isLoopback(options.host) ? LOOPBACK : [])],
    isOwn: (host) => addresses().some((address) => new URL(address).host === host),
  });
  const nodes = createNodes({
    store,
    place: () => placeOf(options.host, listener?.port ?? 0),
    isOtherRunning,
    // Only one process at a time opens the embedded store.
    isAlone: store.engine === 'sqlite',
    onError: (error) => log.error({ err: error }, 'this node could not say that it is alive'),
  });
  const { membership } = nodes;
  const transactionPaths = createTransactionPaths(sealer);
  const transactionMessages = createTransactionMessages(store, transactionPaths);
  const messaging = createMessaging(store, sealer, {
    autoCreate: options['auto-create'],
    maxWaiting: options['max-waiting'],
    rememberIds: Math.ceil(options['remember-ids'] * 1000),
    onceLifetime: options['once-lifetime'] * 1000,
    enlister: transactionMessages,
  });
  const operator = createOperator(store, messaging.events, sealer, (notice) => paths.operatorNotice.href({ notice }));
  const reservations = createReservations({
    store,
    sealer,
    outbound,
    ...transactionPaths,
    ...createReservationPaths(),
    readTransactionState,
  });
  const locals = [reservations.participant, transactionMessages];
  const manager = createTransactionManager({
    store,
    membership,
    sealer,
    operator,
    paths: transactionPaths,
    participants: createParticipants(locals, outbound),
    maxTimeout: options['max-timeout'] * 1000,
    keptMilliseconds: options['keep-transactions'] * 1000,
    onError: (error) => log.error({ err: error }, 'a transaction could not be driven'),
  });
  const consumers = createConsumerArea(store, messaging.events, sealer, consumerAddresses);
  const duties = createDuties(store, membership, messaging, {
    rememberIds: Math.ceil(options['remember-ids'] * 1000),
    others: {
      [TERMINATE]: createTerminator(consumers),
      'drive transactions': manager.upkeep.drive,
      'find lost transactions': manager.upkeep.findLost,
      'forget finished transactions': manager.upkeep.forget,
      'ask for outcomes elsewhere': async () => {
        await reservations.resolveInDoubt();
        return 5000;
      },
    },
    onError: (duty, error) => log.error({ duty, err: error }, 'a duty failed'),
  });
  const ownAddress = (): string => addresses()[0] ?? '';
  const forwarding = createForwarding({
    ...{ store, membership, sealer, operator, outbound },
    ...createOutgoing({ base: () => options['base-url'] ?? ownAddress(), publicId: messaging.publicId }),
    notices: createNotices(({ id }) => sealer.seal(id)),
    fields: [['User-Agent', `Waypost/${VERSION}`]],
    urlOf: (href) => (href.startsWith('/') ? ownAddress() + href : href),
    pathOf: (url) => localPath(url, ownAddress()),
    patience: options['forward-patience'] * 1000,
    maxSubscribers: options['max-subscribers'],
    onError: (error) => log.error({ err: error }, 'forwarding failed'),
  });
  const areas = [
    ...messagingRoutes(messaging, { maxWait: options['max-wait'], maxBatch: options['max-batch'] }),
    ...forwardingRoutes(forwarding, messaging),
    ...transactionRoutes(manager.transactions, {
      outbound,
      isLocalParticipant: (path) => locals.some((local) => local.matches(path)),
    }),
    ...reservationRoutes(reservations),
    ...consumerRoutes(consumers, { maxBatch: options['max-batch'] }),
    ...operatorRoutes(operator),
  ];
  const info = { version: VERSION, engine: store.engine, startedAt, ping: () => store.ping() };
  const bodies = createBodyReader({ body: options['max-body'], buffered: options['max-buffered'] });
  let draining = false;
  const dispatch = createRouter({
    routes: [...serviceRoutes(info, areas), ...areas],
    base: { configured: options['base-url'], trustedProxies: options['trusted-proxies'] },
    bodies,
    localPath,
    cors: createCors(options['cors-origins']),
    onFault: (error, requestId) => log.error({ err: error, requestId }, 'a request failed'),
    draining: () => draining,
  });
  try {
    const { host, port, 'max-headers': maxHeaderSize } = options;
    listener = await listen({ host, port, maxHeaderSize, dispatch, bodies });
  } catch (error) {
    await store.close();
    throw error;
  }
  await nodes.start();
  duties.start();
  await forwarding.start();
  await subscribeOperator();
  consumers.bulk.onStarted(() => duties.wake(TERMINATE));
  const { host } = options;
  if (!isLoopback(host)) {
    log.warn({ host }, 'listening beyond this machine without authentication: anyone who reaches the port may use it');
  }
  const listening = listener;
  let closing: Promise<void> | undefined;

  /** The configured URL is a subscriber like any other, of the topic to which all notices go. */
  async function subscribeOperator(): Promise<void> {
    const href = options['operator-url'];
    if (href === undefined) return;
    const refused = await outbound.check(href);
    if (refused !== undefined) log.warn({ reason: refused.message }, 'the operator URL may not be called');
    const topic = await messaging.destinations.ensure('topic', 'operator-notices');
    await forwarding.subscribers.configure(topic, { rel: 'post-message', href, secret: null });
  }

  /** A part that cannot be put away in order (the database is gone, say) must not keep the others from it. */
  async function orLog(part: string, stopping: Promise<void>): Promise<void> {
    try {
      await stopping;
    } catch (error) {
      log.warn({ part, err: error }, 'could not be stopped in order');
    }
  }

  async function close(): Promise<void> {
    draining = true;
    messaging.waiters.stop();
    manager.drain();
    await Promise.all([listening.close(DRAIN_MILLISECONDS), orLog('forwarding', forwarding.stop())]);
    await orLog('duties', duties.stop());
    await orLog('transactions', manager.stop());
    await orLog('this node', nodes.stop());
    await orLog('outbound calls', outbound.close());
    await store.close();
  }

  const shownHost = host.includes(':') ? `[${host}]` : host;
  return { url: `http://${shownHost}:${listening.port}`, close: () => (closing ??= close()) };
}

const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);
