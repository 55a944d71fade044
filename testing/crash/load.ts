/** Clients of every kind, as fast as they can, while the service is killed under them. */
import { post, put, receive, type Wish } from './direct.ts';
import { type Client, createClient } from './exchange.ts';
import type { Ledger } from './ledger.ts';
import type { CrashNode } from './node.ts';
import { createOncePoster, postBatch } from './once.ts';
import { createPlaces, type Place, type Places } from './places.ts';
import type { Random } from './random.ts';
import { createReader, type Reader, type ReaderOptions } from './readers.ts';
import { LEASED_SETTINGS, randomConduct, work } from './workers.ts';

export type Load = {
  readonly queues: Places;
  readonly leased: Places;
  readonly topics: Places;
  readonly readers: readonly Reader[];
  /** Ends when every client has its last answer. The service has to be up for that. */
  stop(): Promise<void>;
  /** Hangs up, whatever is under way. */
  close(): void;
};

const POSTERS = 8;
const PUTTERS = 4;
const ONCE_POSTERS = 3;
const ONCE_BATCHERS = 1;
const RECEIVERS: readonly Wish[] = [{}, { wait: 0.3 }, { wait: 0.3 }, { max: 5 }, { max: 20, wait: 0.2 }];
const LEASED_ONCE_POSTERS = 2;
const WORKERS = [1, 1, 2, 5, 5];
const TOPIC_POSTERS = 2;
const READERS: readonly ReaderOptions[] = [
  { name: 'reader-1', from: 'first' },
  { name: 'reader-2', from: 'first', max: 20 },
  { name: 'reader-3', from: 'next' },
];
/** Fewer than a service keeps of the messages received from one queue. */
const MOST_IN_QUEUE = 5000;
const MOST_IN_TOPIC = 5000;
/** How many puts are repeated although they were answered. */
const NEEDLESS_REPEATS = 0.1;
const LARGEST_BATCH = 5;

export function startLoad(nodes: readonly CrashNode[], random: Random, ledger: Ledger): Load {
  const queues = createPlaces('queue', MOST_IN_QUEUE, random);
  const leased = createPlaces('leased', MOST_IN_QUEUE, random);
  const topics = createPlaces('topic', MOST_IN_TOPIC, random);
  const clients: Client[] = [];
  const running: Promise<void>[] = [];
  const readers: Reader[] = [];
  let stopping = false;

  /** Starts clients; each has its name and does one step after another. */
  function run(name: string, count: number, begin: (client: Client) => (key: string) => Promise<unknown>): void {
    for (let n = 1; n <= count; n++) {
      const client = createClient(nodes, random, ledger);
      const step = begin(client);
      clients.push(client);
      running.push(
        (async () => {
          for (let turn = 1; !stopping; turn++) await step(`${name}-${n}-${turn}`);
        })(),
      );
    }
  }

  const settings = new Map<string, Promise<unknown>>();
  /** A leased queue with its settings, which are there before its first message. */
  async function nextLeased(client: Client, messages = 1): Promise<Place> {
    const place = leased.next(messages);
    const set = settings.get(place.path) ?? configure(client, ledger, place.path);
    settings.set(place.path, set);
    await set;
    return place;
  }
  const keysOf = (key: string): string[] =>
    Array.from({ length: 1 + random.below(LARGEST_BATCH) }, (_, index) => `${key}-${index + 1}`);

  run('post', POSTERS, (client) => (key) => post(client, ledger, queues.next(), key));
  run('put', PUTTERS, (client) => async (key) => {
    const place = queues.next();
    await put(client, ledger, place, key);
    if (random.fraction() < NEEDLESS_REPEATS) await put(client, ledger, place, key);
  });
  run('once', ONCE_POSTERS, (client) => {
    const poster = createOncePoster(client, ledger, random, 'once');
    return (key) => poster.post(queues.next(), [key]);
  });
  run('batch-once', ONCE_BATCHERS, (client) => {
    const poster = createOncePoster(client, ledger, random, 'batch-once');
    return (key) => {
      const keys = keysOf(key);
      return poster.post(queues.next(keys.length), keys);
    };
  });
  for (const wish of RECEIVERS) run('receive', 1, (client) => () => receive(client, ledger, queues.recent(), wish));

  run('leased-post', 1, (client) => async (key) => post(client, ledger, await nextLeased(client), key));
  run('leased-once', LEASED_ONCE_POSTERS, (client) => {
    const poster = createOncePoster(client, ledger, random, 'once');
    return async (key) => poster.post(await nextLeased(client), [key]);
  });
  run('leased-batch', 1, (client) => async (key) => {
    const keys = keysOf(key);
    await postBatch(client, ledger, await nextLeased(client, keys.length), keys);
  });
  run('leased-batch-once', 1, (client) => {
    const poster = createOncePoster(client, ledger, random, 'batch-once');
    return async (key) => {
      const keys = keysOf(key);
      await poster.post(await nextLeased(client, keys.length), keys);
    };
  });
  for (const max of WORKERS) {
    const how = { max, wait: 0.2, conduct: (key: string) => randomConduct(random, key) };
    run('work', 1, (client) => () => work(client, ledger, leased.recent(), how));
  }

  run('topic', TOPIC_POSTERS, (client) => (key) => post(client, ledger, topics.next(), key));
  run('topic-once', 1, (client) => {
    const poster = createOncePoster(client, ledger, random, 'once');
    return (key) => poster.post(topics.next(), [key]);
  });
  for (const options of READERS) {
    run('read', 1, (client) => {
      const reader = createReader(client, ledger, options);
      readers.push(reader);
      return () => reader.read(topics.recent(), 0.2);
    });
  }

  return {
    queues,
    leased,
    topics,
    readers,
    async stop() {
      stopping = true;
      await Promise.all(running);
    },
    close() {
      stopping = true;
      for (const client of clients) client.close();
    },
  };
}

async function configure(client: Client, ledger: Ledger, queue: string): Promise<void> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await client.insist(queue, { method: 'PUT', headers, body: LEASED_SETTINGS });
  // 200: the first try had no answer.
  if (answer.status !== 201 && answer.status !== 200) {
    ledger.wrong(`PUT ${queue} was answered ${answer.status}: ${answer.text()}`);
  }
}
