import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Address, Answer, Client, Exchange, Options } from './client.ts';
import { type Crawl, crawl } from './crawl.ts';
import { expand } from './links.ts';

export type Settings = Record<string, string | number>;
export type Kind = 'queue' | 'topic';

/** A destination made for one case. Its addresses are stored ones: requests to them go to the nodes in turn. */
export type Destination = { kind: Kind; name: string; address: Address };
export type Queue = Destination & {
  receiving: Address;
  /** The address of a message under an id of the client's choice. */
  message(id: string): Address;
};

/** What all cases share: the client, names that nobody else uses, and destinations that go away in the end. */
export type World = {
  readonly client: Client;
  /** A name of this run alone, in an order of its own: each sorts after the one before. */
  name(hint?: string): string;
  /** Whether a name was made by this run. */
  isOwn(name: string): boolean;
  /** The address of a destination by its name, from the template of the root; cleaned up at the end. */
  address(kind: Kind, name: string): Promise<Address>;
  queue(settings?: Settings): Promise<Queue>;
  topic(settings?: Settings): Promise<Destination>;
  /** The links of a queue that exists. */
  queueAt(name: string): Promise<Queue>;
  /** Posts texts one after the other and gives the addresses of the messages. */
  post(to: Destination, texts: string[], query?: Record<string, string | number>): Promise<Address[]>;
  /** Takes everything off a queue, one by one. */
  drain(queue: Queue): Promise<string[]>;
  /** Looks again and again at what comes about by itself and gives no signal. */
  until(what: string, look: () => Promise<boolean>): Promise<void>;
  /**
   * Does what has to be done within so many seconds of its beginning. Whoever was slower proves nothing by failing: it is
   * done anew, with more time.
   */
  inTime<T>(seconds: number, attempt: (seconds: number) => Promise<T>): Promise<T>;
  /** Looks at a message until it is in this state: time alone brings it there. */
  untilState(message: Address, state: string): Promise<void>;
  /** Begins a request that waits (30 s unless told) and comes back when the service has it. */
  startWaiting(method: string, address: Address, options?: Options): Promise<Exchange>;
  /** Hangs up and comes back when the service knows. */
  hangUp(exchange: Exchange): Promise<void>;
  /** A link of the root, stored. */
  link(rel: string): Promise<Address>;
  /** Walks through the whole service once. */
  crawl(): Promise<Crawl>;
  cleanUp(): Promise<void>;
};

const MOST_DRAINED = 1000;
const PATIENCE = 20_000;
/** The most time for what has to be done in time, in seconds. */
const LONGEST_TIME = 30;

export function createWorld(client: Client): World {
  const run = `cf-${randomBytes(5).toString('hex')}`;
  const made = new Set<Address>();
  let count = 0;
  let crawled: Promise<Crawl> | undefined;

  const name: World['name'] = (hint = 'x') => `${run}-${String(++count).padStart(5, '0')}-${hint}`;

  async function address(kind: Kind, chosen: string): Promise<Address> {
    const root = await client.root();
    const found = client.store(expand(root.template(kind), { name: chosen }));
    made.add(found);
    return found;
  }

  async function create(kind: Kind, settings: Settings): Promise<{ name: string; address: Address; answer: Answer }> {
    const chosen = name(kind);
    const at = await address(kind, chosen);
    const headers = { 'content-type': 'application/json' };
    const answer = await client.put(at, { headers, body: JSON.stringify(settings) });
    return { name: chosen, address: at, answer: answer.expect(201) };
  }

  /** Nothing tells that a request has arrived; but what was sent before two round trips to each node has. */
  async function settle(): Promise<void> {
    for (let i = 0; i < 2; i++) {
      await Promise.all(client.bases.map((base) => client.get(`${base}/`)));
    }
  }

  const queueOf = (chosen: string, at: Address, answer: Answer): Queue => ({
    kind: 'queue',
    name: chosen,
    address: at,
    receiving: client.store(answer.link('receiving')),
    message: (id) => client.store(expand(answer.template('message'), { 'message-id': id })),
  });

  const world: World = {
    client,
    name,
    isOwn: (each) => each.startsWith(run),
    address,
    async queue(settings = {}) {
      const { name: chosen, address: at, answer } = await create('queue', settings);
      return queueOf(chosen, at, answer);
    },
    async topic(settings = {}) {
      const { name: chosen, address: at } = await create('topic', settings);
      return { kind: 'topic', name: chosen, address: at };
    },
    async queueAt(chosen) {
      const at = await address('queue', chosen);
      return queueOf(chosen, at, (await client.head(at)).expect(200));
    },
    async post(to, texts, query = {}) {
      const addresses: Address[] = [];
      for (const body of texts) {
        const answer = await client.post(to.address, { headers: { 'content-type': 'text/plain' }, body, query });
        addresses.push(client.store(answer.expect(204).headers.location ?? ''));
      }
      return addresses;
    },
    async drain(queue) {
      const texts: string[] = [];
      while (texts.length < MOST_DRAINED) {
        const answer = (await client.post(queue.receiving)).expect(200, 204);
        if (answer.status === 204) return texts;
        texts.push(answer.text());
      }
      throw new Error(`the queue ${queue.name} does not run dry`);
    },
    async until(what, look) {
      const deadline = performance.now() + PATIENCE;
      while (!(await look())) {
        if (performance.now() > deadline) throw new Error(`not within ${PATIENCE / 1000} s: ${what}`);
        await pause(20);
      }
    },
    async inTime(seconds, attempt) {
      for (let time = seconds; ; time *= 3) {
        const begun = performance.now();
        try {
          return await attempt(time);
        } catch (error) {
          if (performance.now() - begun < time * 1000 || time > LONGEST_TIME) throw error;
        }
      }
    },
    untilState: (message, state) =>
      world.until(`${message} is ${state}`, async () => {
        return (await client.get(message)).expect(200).headers['message-state'] === state;
      }),
    async startWaiting(method, at, options = {}) {
      const exchange = client.begin(method, at, { ...options, headers: { 'accept-wait': '30', ...options.headers } });
      // Whoever hangs up expects no answer.
      exchange.answer.catch(() => {});
      await exchange.sent;
      await settle();
      return exchange;
    },
    async hangUp(exchange) {
      exchange.hangUp();
      await settle();
    },
    link: async (rel) => client.store((await client.root()).link(rel)),
    crawl: () => {
      crawled ??= crawl(world);
      return crawled;
    },
    async cleanUp() {
      const addresses = [...made];
      const remove = async (address: Address) => client.delete(address, { query: { force: 'true' } });
      while (addresses.length > 0) {
        // Names that were refused stand among them, too.
        for (const answer of await Promise.all(addresses.splice(0, 20).map(remove))) answer.expect(204, 400, 404, 414);
      }
    },
  };
  return world;
}
