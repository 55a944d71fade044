/** One request of a client that lives with a service being killed. */
import { Agent } from 'node:http';
import { type Answer, type RequestOptions, request } from '../http.ts';
import type { Ledger } from './ledger.ts';
import type { CrashNode } from './node.ts';
import type { Random } from './random.ts';

/** A client with one connection, which is made anew when it breaks. */
export type Client = {
  /** The answer; undefined when the service was killed before it was complete. */
  send(path: string, options: Omit<RequestOptions, 'agent' | 'timeout'>): Promise<Answer | undefined>;
  close(): void;
};

const TIMEOUT = 30_000;

export function createClient(nodes: readonly CrashNode[], random: Random, ledger: Ledger): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, scheduling: 'fifo' });

  async function serving(): Promise<CrashNode> {
    for (;;) {
      const up = nodes.filter((node) => node.up);
      if (up.length > 0) return random.pick(up);
      await Promise.race(nodes.map((node) => node.whenUp()));
    }
  }

  return {
    async send(path, options) {
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
    },
    close: () => agent.destroy(),
  };
}
