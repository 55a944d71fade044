/** When all is quiet: takes what is left, and looks at what is missing. */
import { keyOf } from './bodies.ts';
import { type Client, createClient } from './exchange.ts';
import type { Ledger } from './ledger.ts';
import { receive } from './load.ts';
import type { CrashNode } from './node.ts';
import type { Random } from './random.ts';

const HANDS = 8;
const PIECE = 200;
/** A receive may miss what another node has just made available, for a second at most; then it is asked again. */
const ROUNDS = 5;

export type Aftermath = {
  /** Receives all that is left of these queues; a fault when something stays that cannot be received. */
  drain(queues: readonly string[]): Promise<number>;
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
    let total = 0;
    for (let round = 0; round < ROUNDS; round++) {
      for (;;) {
        const count = await receive(client, ledger, queue, { max: PIECE, ...(round > 0 && { wait: 1.5 }) });
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
    look: () =>
      each(ledger.toLookAt(), async (client, { key, location = '' }) => {
        const answer = await client.send(location, {});
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
