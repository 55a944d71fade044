/** The area over HTTP in this process, on a real store, with a clock that a test may turn. */
import assert from 'node:assert/strict';
import type { Engine } from '../../../testing/engines.ts';
import { type Answer, type RequestOptions, request } from '../../../testing/http.ts';
import { type ConsumerArea, createConsumerArea } from '../../src/consumers/consumers.ts';
import { consumerRoutes } from '../../src/consumers/routes.ts';
import { addresses } from '../../src/consumers/views/consumers.ts';
import { createTerminator } from '../../src/duties/terminate.ts';
import { createLocalUris } from '../../src/http/base-url.ts';
import { type Listener, listen } from '../../src/http/listener.ts';
import { createBodyBudget } from '../../src/http/protocol/body.ts';
import { createRouter } from '../../src/http/router.ts';
import { createSealer } from '../../src/ids.ts';
import { createMessaging, type Messaging } from '../../src/messaging/messaging.ts';
import { messagingRoutes } from '../../src/messaging/routes.ts';
import { NO_TRANSACTIONS } from '../../src/messaging/usecases/enlisting.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';

const MIB = 1024 * 1024;
const DAY = 24 * 3_600_000;

export interface Event {
  readonly type: string;
  readonly subject: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Service {
  readonly url: string;
  readonly store: Store;
  readonly area: ConsumerArea;
  /** The time that the service believes in; undefined: the real one. */
  readonly clock: { time?: number };
  send(path: string, options?: RequestOptions): Promise<Answer>;
  /** Does what bulk terminations are waiting for. */
  runJobs(): Promise<void>;
  /** All events, in the order of the topic. */
  events(): Promise<Event[]>;
  restart(): Promise<void>;
  close(): Promise<void>;
}

interface Parts {
  readonly store: Store;
  readonly messaging: Messaging;
  readonly area: ConsumerArea;
  readonly listener: Listener;
}

export async function openService(engine: Engine, { maxBatch = 1000 } = {}): Promise<Service> {
  const database = await engine.database();
  const clock: { time?: number } = {};
  const faults: unknown[] = [];

  async function open(): Promise<Parts> {
    const { options } = database;
    const location =
      'data' in options ? { database: undefined, folder: options.data } : { database: options.database, folder: '' };
    const opened = await openStore({ ...location, reserveBytes: 0 }, () => {});
    const store: Store = { ...opened, now: () => clock.time ?? opened.now() };
    const sealer = createSealer(store.secret);
    const messaging = createMessaging(store, sealer, {
      autoCreate: true,
      maxWaiting: 100,
      rememberIds: DAY,
      onceLifetime: DAY,
      enlister: NO_TRANSACTIONS,
    });
    const area = createConsumerArea(store, messaging.events, sealer, addresses);
    const dispatch = createRouter({
      routes: [...consumerRoutes(area, { maxBatch }), ...messagingRoutes(messaging, { maxWait: 60, maxBatch })],
      base: { configured: undefined, trustedProxies: [] },
      localPath: createLocalUris(undefined, () => []),
      cors: () => [],
      onFault: (error) => faults.push(error),
    });
    const bodies = createBodyBudget({ body: 10 * MIB, buffered: 100 * MIB });
    const where = { host: '127.0.0.1', port: 0, base: undefined };
    const listener = await listen({ ...where, maxHeaderSize: 16_384, dispatch, bodies });
    return { store, messaging, area, listener };
  }

  async function shut({ store, messaging, listener }: Parts): Promise<void> {
    messaging.waiters.stop();
    await listener.close(1000);
    await store.close();
  }

  let parts = await open();
  const url = (): string => parts.listener.addresses[0] as string;
  const send = (path: string, options?: RequestOptions): Promise<Answer> =>
    request(path.startsWith('/') ? url() + path : path, options);

  return {
    get url() {
      return url();
    },
    get store() {
      return parts.store;
    },
    get area() {
      return parts.area;
    },
    clock,
    send,
    async runJobs() {
      const duty = createTerminator(parts.area);
      while ((await duty()) === 0);
    },
    async events() {
      const events: Event[] = [];
      let answer = await send('/topics/consumer-events/first');
      while (answer.status === 200) {
        const { headers } = answer;
        const type = (headers['ce-type'] ?? '').replace(/^waypost\./, '');
        events.push({ type, subject: headers['ce-subject'] ?? '', data: answer.json<Event['data']>() });
        answer = await send(answer.link('next'));
      }
      return events;
    },
    async restart() {
      await shut(parts);
      parts = await open();
    },
    async close() {
      await shut(parts);
      await database.drop();
      assert.deepEqual(faults, []);
    },
  };
}

export const XML = { 'content-type': 'application/xml' };
export const JSON_TYPE = { 'content-type': 'application/json' };
export const ACCEPT_JSON = { accept: 'application/json' };
export const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

export interface ConsumerJson {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly 'entitlement-count': number;
  readonly 'external-key'?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly terminated?: { readonly at: string; readonly reason?: string };
  readonly updated: string;
  readonly links: readonly LinkJson[];
}

export interface EntitlementJson {
  readonly id: string;
  readonly consumer: string;
  readonly product: { readonly id: string; readonly name?: string };
  readonly quantity: number;
  readonly start: string;
  readonly end?: string;
  readonly state: string;
  readonly terminated?: { readonly at: string; readonly reason?: string; readonly cause: string };
  readonly links: readonly LinkJson[];
}

export interface LinkJson {
  readonly rel: string;
  readonly href: string;
}

/** Shorthands of a client that speaks JSON. */
export function clientOf(service: Service) {
  const post = (path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
    service.send(path, {
      method: 'POST',
      headers: { ...JSON_TYPE, ...ACCEPT_JSON, ...headers },
      body: JSON.stringify(body),
    });
  const get = (path: string): Promise<Answer> => service.send(path, { headers: ACCEPT_JSON });
  const expect = (answer: Answer, status: number): Answer => {
    assert.equal(answer.status, status, answer.text());
    return answer;
  };
  return {
    post,
    get,
    expect,
    async consumer(body: object = { name: 'Ada' }): Promise<Answer> {
      return expect(await post('/consumers', body), 201);
    },
    async grant(consumer: Answer, body: object | string = 'p1'): Promise<Answer> {
      const fields = typeof body === 'string' ? { product: body } : body;
      return expect(await post(consumer.link('entitlements'), fields), 201);
    },
    /** The items of all pages. */
    async all<T>(path: string): Promise<T[]> {
      const items: T[] = [];
      let next: string | undefined = path;
      while (next !== undefined) {
        const page = expect(await get(next), 200);
        items.push(...page.json<{ items: T[] }>().items);
        next = page.links.find(({ rel }) => rel === 'next')?.href;
      }
      return items;
    },
  };
}
