/** What the tests of forwarding share: a running service, and the few requests they make again and again. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { Engine, EngineDatabase } from '../../../testing/engines.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type Answer, request } from '../../../testing/http.ts';
import { startWaypost, type WaypostProcess } from '../../../testing/waypost.ts';
import { startTarget, type Target } from './target.fixtures.ts';

export interface SubscriberJson {
  readonly id: string;
  readonly rel: string;
  readonly href: string;
  readonly state: 'active' | 'retrying' | 'disabled';
  readonly reason?: string;
  readonly signed: boolean;
  readonly tries?: number;
  readonly counters: { forwarded: number; failed: number; dead: number };
  readonly attempts: { at: string; status?: number; milliseconds: number; error?: string; message?: string }[];
  readonly links: { rel: string; href: string }[];
}

export const JSON_TYPE = 'application/json';

/** A destination of a test's own. */
export class Place {
  readonly kind: 'queues' | 'topics';
  readonly name: string;
  readonly url: string;

  constructor(base: string, kind: 'queues' | 'topics', name: string) {
    this.kind = kind;
    this.name = name;
    this.url = `${base}/${kind}/${name}`;
  }

  create(settings: object = {}): Promise<Answer> {
    return request(this.url, {
      method: 'PUT',
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify(settings),
    });
  }

  async post(body: string, headers: Record<string, string> = {}, query = ''): Promise<Answer> {
    const answer = await request(`${this.url}${query}`, { method: 'POST', body, headers });
    assert.equal(answer.status, 204, answer.text());
    return answer;
  }

  async register(rel: string, href: string, more: object = {}): Promise<string> {
    const answer = await request(`${this.url}/subscribers`, {
      method: 'POST',
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify({ rel, href, ...more }),
    });
    assert.equal(answer.status, 201, answer.text());
    return answer.headers.location ?? '';
  }

  receive(): Promise<Answer> {
    return request(`${this.url}/receiving`, { method: 'POST' });
  }
}

export async function look(subscriber: string): Promise<SubscriberJson> {
  const answer = await request(subscriber, { headers: { accept: JSON_TYPE } });
  assert.equal(answer.status, 200, answer.text());
  return answer.json<SubscriberJson>();
}

/** Waits until a subscriber is as it should be. */
export async function until(
  subscriber: string,
  what: string,
  check: (found: SubscriberJson) => boolean,
): Promise<SubscriberJson> {
  let last: SubscriberJson | undefined;
  try {
    return await eventually(what, async () => {
      last = await look(subscriber);
      return check(last) ? last : undefined;
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${JSON.stringify(last, null, 2)}`);
  }
}

export const isState =
  (state: SubscriberJson['state']) =>
  (found: SubscriberJson): boolean =>
    found.state === state;

/** Follows a link of a subscriber. */
export async function follow(subscriber: string, rel: string, query = ''): Promise<Answer> {
  const { links } = await look(subscriber);
  const found = links.find((link) => link.rel === rel);
  assert.ok(found, `a link ${rel}, not only ${links.map((link) => link.rel).join(', ')}`);
  return request(`${found.href}${query}`, { method: 'POST', headers: { accept: JSON_TYPE } });
}

export interface Service {
  readonly url: string;
  /** A queue or topic with a name of its own. */
  queue(settings?: object): Promise<Place>;
  topic(settings?: object): Promise<Place>;
  target(): Promise<Target>;
}

/** Starts a service for the tests of one `describe`. */
export function withService(engine: Engine, args: string[] = []): Service {
  let database: EngineDatabase | undefined;
  let waypost: WaypostProcess | undefined;
  const targets: Target[] = [];
  let count = 0;

  before(async () => {
    database = await engine.database();
    waypost = await startWaypost({ args: [...database.args, ...args] });
  });
  after(async () => {
    await waypost?.stop();
    for (const target of targets) await target.close();
    await database?.drop();
  });

  const url = (): string => waypost?.url ?? '';
  const place = async (kind: 'queues' | 'topics', settings: object = {}): Promise<Place> => {
    const created = new Place(url(), kind, `${kind[0]}${++count}`);
    await created.create(settings);
    return created;
  };
  return {
    get url() {
      return url();
    },
    queue: (settings) => place('queues', settings),
    topic: (settings) => place('topics', settings),
    async target() {
      const target = await startTarget();
      targets.push(target);
      return target;
    },
  };
}
