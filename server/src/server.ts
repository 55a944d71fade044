/** Composes the service. The program and the tests start the same thing. */
import type { Area } from './area.ts';
import type { Options } from './config.ts';
import { createConsumersArea } from './consumers/area.ts';
import { createDuties } from './duties/duties.ts';
import { createForwardingArea } from './forwarding/area.ts';
import { isLoopback, type OpenGround, openGround, VERSION } from './ground.ts';
import { createCors } from './http/cors.ts';
import { createGate, type Gate } from './http/gate.ts';
import { type Listener, listen } from './http/listener.ts';
import type { Route } from './http/operation.ts';
import { createBodyBudget } from './http/protocol/body.ts';
import { createRouter, type Dispatch } from './http/router.ts';
import type { Logger } from './log.ts';
import { createMessagingArea } from './messaging/area.ts';
import { createOperatorArea } from './operator/area.ts';
import { createReservationArea } from './reservations/area.ts';
import { serviceRoutes } from './service/routes.ts';
import { createEnlister, createTransactionArea } from './transactions/area.ts';

export { VERSION } from './ground.ts';

export interface Waypost {
  /** The address it listens on. */
  readonly url: string;
  close(): Promise<void>;
}

/** What is still in flight after this long is cut off; the program has ended within ten seconds. */
const DRAIN_MILLISECONDS = 8000;

export async function startWaypost(options: Options, log: Logger): Promise<Waypost> {
  // The port first: a start that fails on it has touched neither a folder nor a database.
  const gate = createGate();
  const listener = await listenAt(options, gate);
  try {
    return await startBehind(listener, gate, options, log);
  } catch (error) {
    await listener.close(0);
    throw error;
  }
}

async function startBehind(listener: Listener, gate: Gate, options: Options, log: Logger): Promise<Waypost> {
  const ground = await openGround(options, log, listener);
  const { store, outbound, nodes } = ground;

  // The areas, each after those it needs.
  const enlister = createEnlister(ground);
  const messaging = createMessagingArea(ground, enlister);
  const operator = createOperatorArea(ground, messaging.messaging);
  const reservations = createReservationArea(ground);
  const transactions = createTransactionArea(ground, operator.operator, [reservations.participant, enlister]);
  const consumers = createConsumersArea(ground, messaging.messaging);
  const forwarding = createForwardingArea(ground, messaging.messaging, operator.operator);
  // In the order of the description.
  const areas: readonly Area[] = [messaging, forwarding, transactions, reservations, consumers, operator];
  const duties = createDuties(store, ground.membership, messaging.messaging, {
    rememberIds: Math.ceil(options['remember-ids'] * 1000),
    others: Object.assign({}, ...areas.map((area) => area.duties ?? {})),
    onError: (duty, error) => log.error({ duty, err: error }, 'a duty failed'),
  });

  async function start(): Promise<void> {
    await nodes.start();
    duties.start();
    for (const area of areas) await area.start?.(duties.wake);
  }

  /** What stands on others goes before them. */
  async function close(drain: number): Promise<void> {
    for (const area of areas) area.drain?.();
    await Promise.all([listener.close(drain), orLog('forwarding', forwarding)]);
    await orLog('duties', duties);
    await orLog('transactions', transactions);
    await orLog('this node', nodes);
    await orLog('outbound calls', { stop: () => outbound.close() });
    await store.close();
  }

  /** A part that cannot be put away in order (the database is gone, say) must not keep the others from it. */
  async function orLog(name: string, part: Pick<Area, 'stop'>): Promise<void> {
    try {
      await part.stop?.();
    } catch (error) {
      log.warn({ part: name, err: error }, 'could not be stopped in order');
    }
  }

  const { host } = options;
  try {
    await start();
    gate.open(dispatchTo(ground, areas));
  } catch (error) {
    // Nobody has been answered yet.
    await close(0);
    throw error;
  }
  if (!isLoopback(host)) {
    log.warn({ host }, 'listening beyond this machine without authentication: anyone who reaches the port may use it');
  }
  let closing: Promise<void> | undefined;
  const shownHost = host.includes(':') ? `[${host}]` : host;
  return { url: `http://${shownHost}:${listener.port}`, close: () => (closing ??= close(DRAIN_MILLISECONDS)) };
}

function listenAt(options: Options, { dispatch }: Gate): Promise<Listener> {
  const { host, port, 'max-headers': maxHeaderSize } = options;
  const bodies = createBodyBudget({ body: options['max-body'], buffered: options['max-buffered'] });
  return listen({ host, port, base: options['base-url'], maxHeaderSize, bodies, dispatch });
}

/** Serves the routes of the areas, and what the service tells about itself and them. */
function dispatchTo(ground: OpenGround, areas: readonly Area[]): Dispatch {
  const { options, log, store, localPath } = ground;
  const routes: Route[] = areas.flatMap((area) => area.routes);
  const info = { version: VERSION, engine: store.engine, startedAt: ground.startedAt, ping: () => store.ping() };
  return createRouter({
    routes: [...serviceRoutes(info, routes), ...routes],
    base: { configured: options['base-url'], trustedProxies: options['trusted-proxies'] },
    localPath,
    cors: createCors(options['cors-origins']),
    onFault: (error, requestId) => log.error({ err: error, requestId }, 'a request failed'),
  });
}
