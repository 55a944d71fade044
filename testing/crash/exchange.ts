/** One request of a client that lives with a service being killed. */
import { Agent } from 'node:http';
import { type Answer, type RequestOptions, request } from '../http.ts';
import type { Ledger } from './ledger.ts';
import type { CrashNode } from './node.ts';
import type { Random } from './random.ts';

type Options = Omit<RequestOptions, 'agent' | 'timeout'>;

/** A client with one connection, which is made anew when it breaks. */
export type Client = {
  /** The answer; undefined when the service was killed before it was complete. */
  send(path: string, options: Options): Promise<Answer | undefined>;
  /** Sends the same again until an answer says what became of it. `before` is called ahead of every try. */
  insist(path: string, options: Options, before?: () => void): Promise<Answer>;
  close(): void;
};

const TIMEOUT = 30_000;
const PATIENCE = 1000;

export function createClient(nodes: readonly CrashNode[], random: Random, ledger: Ledger): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, scheduling: 'fifo' });

  async function serving(): Promise<CrashNode> {
    for (;;) {
      const up = nodes.filter((node) => node.up);
      if (up.length > 0) return random.pick(up);
      await Promise.race(nodes.map((node) => node.whenUp()));
    }
  }

  async function send(path: string, options: Options): Promise<Answer | undefined> {
    const node = await serving();
    const { life } = node;
    try {
      return await request(node.url + path, { ...options, agent, timeout: TIMEOUT });
    } catch (error) {
      // Only a kill may cut a connection: a service that does so by itself, or falls silent, is at fault.
      const killed = node.life !== life;
      if (!killed) ledger.wrong(`${options.method ?? 'GET'} ${path} without a kill: ${(error as Error).message}`);
      return undefined;
    }
  }

  return {
    send,
    async insist(path, options, before) {
      for (let patience = PATIENCE; patience > 0; patience--) {
        before?.();
        const answer = await send(path, options);
        if (answer !== undefined && !isBusy(answer)) return answer;
      }
      throw new Error(`${options.method ?? 'GET'} ${path} had no answer in ${PATIENCE} tries`);
    },
    close: () => agent.destroy(),
  };
}

/** The service said that it cannot serve now, and did not say what became of the request. */
export const isBusy = ({ status }: Answer): boolean => status === 503;

/** Addresses without the name of the node that gave them. */
export function pathOf(location: string | undefined): string {
  return URL.canParse(location ?? '') ? new URL(location ?? '').pathname : `(no address: ${location})`;
}
