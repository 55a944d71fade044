/** When all is quiet: takes what is left, and looks at what is missing. */
import { keyOf } from './bodies.ts';
import { receive } from './direct.ts';
import { type Client, createClient } from './exchange.ts';
import type { Ledger } from './ledger.ts';
import type { CrashNode } from './node.ts';
import type { Random } from './random.ts';
import type { Reader } from './readers.ts';
import { LONGEST_LEASE, work } from './workers.ts';

const HANDS = 8;
const PIECE = 200;
/** So few that they are acknowledged before their lease is over. */
const LEASED_PIECE = 20;
/** A receive may miss what another node has just made available, for a second at most; then it is asked again. */
const ROUNDS = 5;

export type Aftermath = {
  /** Receives all that is left of these queues; a fault when something stays that cannot be received. */
  drain(queues: readonly string[]): Promise<number>;
  /** The same by leasing and acknowledging, until each message is acknowledged or dead. */
  finish(queues: readonly string[]): Promise<number>;
  /** Lets the readers read all topics to their ends. */
  readOn(readers: readonly Reader[], topics: readonly string[]): Promise<void>;
  /** Looks at the messages that nobody received, and at those of topics. */
  look(): Promise<void>;
  /** Compares how many messages a topic has with how many can be there. */
  countTopics(topics: readonly string[]): Promise<void>;
  close(): void;
};

export function createAftermath(nodes: readonly CrashNode[], random: Random, ledger: Ledger): Aftermath {
  const clients = Array.from({ length: HANDS }, () => createClient(nodes, random, ledger));

  /** Shares the items among the clients. */
  async function each<T>(items: Iterable<T>, work: (client: Client, item: T) => Promise<void>): Promise<void> {
    const iterator = items[Symbol.iterator]();
    await Promise.all(
      clients.map(async (client) => {
        for (let step = iterator.next(); !step.done; step = iterator.next()) await work(client, step.value);
      }),
    );
  }

  async function drainOne(client: Client, queue: string): Promise<number> {
    return empty(client, queue, (isFirst) =>
      receive(client, ledger, queue, { max: PIECE, ...(!isFirst && { wait: 1.5 }) }),
    );
  }

  /** All hands at one queue: each acknowledgement is a request of its own. */
  async function finishOne(queue: string): Promise<number> {
    const [first] = clients as [Client];
    return empty(first, queue, async (isFirst) => {
      const how = { max: LEASED_PIECE, wait: isFirst ? 0 : LONGEST_LEASE, conduct: () => 'acknowledge' as const };
      const counts = await Promise.all(clients.map((client) => work(client, ledger, queue, how)));
      return counts.reduce((sum, count) => sum + count, 0);
    });
  }

  /** Takes until nothing comes and nothing waits. How many came in all. */
  async function empty(client: Client, queue: string, take: (isFirst: boolean) => Promise<number>): Promise<number> {
    let total = 0;
    for (let round = 0; round < ROUNDS; round++) {
      for (;;) {
        const count = await take(round === 0);
        if (count === 0) break;
        total += count;
      }
      const left = await waitingIn(client, queue);
      if (left === 0) return total;
      if (round === ROUNDS - 1) ledger.wrong(`${queue} says that ${left} messages wait, but gives none`);
    }
    return total;
  }

  async function waitingIn(client: Client, queue: string): Promise<number> {
    const answer = await client.send(queue, {});
    if (answer?.status !== 200) {
      // It may be that no post to it ever came through, and that it was never made.
      if (answer?.status !== 404) ledger.wrong(`${queue} was answered ${answer?.status}: ${answer?.text()}`);
      return 0;
    }
    const { counts } = answer.json<{ counts: { available: number; delayed: number; leased: number } }>();
    return counts.available + counts.delayed + counts.leased;
  }

  return {
    async drain(queues) {
      let total = 0;
      await each(queues, async (client, queue) => {
        total += await drainOne(client, queue);
      });
      return total;
    },
    async finish(queues) {
      let total = 0;
      for (const queue of queues) total += await finishOne(queue);
      return total;
    },
    async readOn(readers, topics) {
      await Promise.all(
        readers.map(async (reader) => {
          for (const topic of topics) {
            // A reader that has not begun yet gets its first link, and maybe no message with it.
            await reader.read(topic, 0);
            while ((await reader.read(topic, 0)) > 0);
          }
        }),
      );
    },
    look: () =>
      each(ledger.toLookAt(), async (client, { key, address }) => {
        const answer = await client.send(address, {});
        if (answer === undefined) return;
        const { status, headers } = answer;
        ledger.looked(key, { status, state: headers['message-state'], whole: keyOf(answer.text()) === key });
      }),
    countTopics: (topics) =>
      each(topics, async (client, topic) => {
        const answer = await client.send(topic, {});
        const isThere = answer?.status === 200;
        if (!isThere && answer?.status !== 404) ledger.wrong(`${topic} was answered ${answer?.status}`);
        const retained = isThere ? answer.json<{ counts: { retained: number } }>().counts.retained : 0;
        const sent = ledger.entries(topic);
        const answered = sent.filter((entry) => entry.location !== undefined).length;
        if (retained < answered || retained > sent.length) {
          ledger.wrong(`${topic} has ${retained} messages; ${sent.length} were sent and ${answered} answered`);
        }
      }),
    close() {
      for (const client of clients) client.close();
    },
  };
}
