/** Clients that post, put and receive as fast as they can while the service is killed under them. */
import type { Answer } from '../http.ts';
import { bodyOf } from './bodies.ts';
import { type Client, createClient } from './exchange.ts';
import type { Ledger } from './ledger.ts';
import type { CrashNode } from './node.ts';
import { messagesIn } from './parts.ts';
import { createPlaces, type Places } from './places.ts';
import type { Random } from './random.ts';

export type Load = {
  readonly queues: Places;
  readonly topics: Places;
  /** Ends when every client has its last answer. The service has to be up for that. */
  stop(): Promise<void>;
};

/** How a receiver asks. */
export type Wish = { max?: number; wait?: number };

const POSTERS = 12;
const PUTTERS = 6;
const TOPIC_POSTERS = 2;
const RECEIVERS: readonly Wish[] = [{}, { wait: 0.3 }, { wait: 0.3 }, { max: 5 }, { max: 20, wait: 0.2 }];
/** Fewer than a service keeps of the messages received from one queue. */
const MOST_IN_QUEUE = 5000;
const MOST_IN_TOPIC = 5000;
/** How many puts are repeated although they were answered. */
const NEEDLESS_REPEATS = 0.1;
const PATIENCE = 1000;

export function startLoad(nodes: readonly CrashNode[], random: Random, ledger: Ledger): Load {
  const queues = createPlaces('queue', MOST_IN_QUEUE, random);
  const topics = createPlaces('topic', MOST_IN_TOPIC, random);
  const clients: Client[] = [];
  const running: Promise<void>[] = [];
  let stopping = false;

  function run(step: (client: Client, turn: number) => Promise<void>): void {
    const client = createClient(nodes, random, ledger);
    clients.push(client);
    running.push(
      (async () => {
        for (let turn = 1; !stopping; turn++) await step(client, turn);
      })(),
    );
  }

  for (let n = 1; n <= POSTERS; n++) {
    run((client, turn) => post(client, ledger, 'post', `/queues/${queues.next()}`, `post-${n}-${turn}`));
  }
  for (let n = 1; n <= TOPIC_POSTERS; n++) {
    run((client, turn) => post(client, ledger, 'topic', `/topics/${topics.next()}`, `topic-${n}-${turn}`));
  }
  for (let n = 1; n <= PUTTERS; n++) {
    run(async (client, turn) => {
      const [queue, key] = [`/queues/${queues.next()}`, `put-${n}-${turn}`];
      await put(client, ledger, queue, key);
      if (random.fraction() < NEEDLESS_REPEATS) await put(client, ledger, queue, key);
    });
  }
  for (const wish of RECEIVERS) {
    run((client) => receive(client, ledger, `/queues/${queues.recent()}`, wish).then(() => {}));
  }

  return {
    queues,
    topics,
    async stop() {
      stopping = true;
      await Promise.all(running);
      for (const client of clients) client.close();
    },
  };
}

/** One try. Whether a post without an answer was stored is never known, so it is not repeated. */
async function post(client: Client, ledger: Ledger, way: 'post' | 'topic', path: string, key: string): Promise<void> {
  ledger.sent(way, path, key);
  const answer = await client.send(path, { method: 'POST', body: bodyOf(key) });
  if (answer === undefined || isBusy(answer)) return;
  if (answer.status !== 204) ledger.wrong(`POST ${path} of ${key} was answered ${answer.status}: ${answer.text()}`);
  else ledger.answered(key, pathOf(answer.headers.location), true);
}

/** Tries until there is an answer, under the same id. */
async function put(client: Client, ledger: Ledger, queue: string, key: string): Promise<void> {
  const path = `${queue}/messages/${key}`;
  for (let patience = PATIENCE; patience > 0; patience--) {
    ledger.sent('put', queue, key);
    const answer = await client.send(path, { method: 'PUT', body: bodyOf(key) });
    if (answer === undefined || isBusy(answer)) continue;
    if (answer.status !== 200 && answer.status !== 201) {
      ledger.wrong(`PUT ${path} was answered ${answer.status}: ${answer.text()}`);
    } else ledger.answered(key, pathOf(answer.headers.location), answer.status === 201);
    return;
  }
}

/** How many messages came. */
export async function receive(client: Client, ledger: Ledger, queue: string, { max, wait }: Wish): Promise<number> {
  const path = `${queue}/receiving${max === undefined ? '' : `?max=${max}`}`;
  const headers: Record<string, string> = wait === undefined ? {} : { 'accept-wait': String(wait) };
  const answer = await client.send(path, { method: 'POST', headers });
  if (answer === undefined) ledger.cut(queue, max ?? 1);
  // A queue is made by the first message in it.
  if (answer === undefined || isBusy(answer) || answer.status === 204 || answer.status === 404) return 0;
  if (answer.status !== 200) {
    ledger.wrong(`POST ${path} was answered ${answer.status}: ${answer.text()}`);
    return 0;
  }
  const messages = messagesIn(answer);
  if (messages.length === 0 || messages.length > (max ?? 1)) ledger.wrong(`${path} gave ${messages.length} messages`);
  for (const { location, body } of messages) ledger.received(queue, pathOf(location), body);
  return messages.length;
}

/** The service said that it cannot serve now, and did not say what became of the request. */
const isBusy = ({ status }: Answer): boolean => status === 503;

/** Addresses without the name of the node that gave them. */
export function pathOf(location: string | undefined): string {
  return URL.canParse(location ?? '') ? new URL(location ?? '').pathname : `(no address: ${location})`;
}
