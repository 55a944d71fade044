/** What the scenarios of transactions share: clients that work through several requests in a row. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { guardProcess } from '../testing/guard.ts';
import { type Answer, type RequestOptions, request } from '../testing/http.ts';

const TX = 'application/tx+xml';

/** A process with participants, at any address of it. */
export async function startParticipants(): Promise<{ uri(name: string): string; stop(): void }> {
  const child = fork(join(import.meta.dirname, 'participant-server.ts'));
  const release = child.pid === undefined ? () => {} : guardProcess(child.pid);
  child.once('exit', release);
  const [port] = await once(child, 'message');
  return { uri: (name) => `http://127.0.0.1:${port}/${name}/state`, stop: () => void child.kill() };
}

export interface BenchClient {
  send(expected: number, url: string, options: RequestOptions): Promise<Answer>;
  begin(): Promise<{ uri: string; participants: string }>;
  register(participants: string, uris: readonly string[]): Promise<void>;
  commit(transaction: string): Promise<void>;
  /** Gives the address of its transaction-state. */
  reserve(kind: 'airline' | 'hotel', transaction: string): Promise<string>;
  /** What the manager does, by hand and without a log. */
  order(state: string, uri: string, status: number): Promise<void>;
  close(): void;
}

export function benchClient(base: string): BenchClient {
  const agent = new Agent({ keepAlive: true });

  async function send(expected: number, url: string, options: RequestOptions): Promise<Answer> {
    const answer = await request(url, { ...options, agent });
    if (answer.status === expected) return answer;
    throw new Error(`${options.method} ${url} was answered ${answer.status} instead of ${expected}: ${answer.text()}`);
  }
  const post = (expected: number, url: string, type: string, body: string): Promise<Answer> =>
    send(expected, url, { method: 'POST', headers: { 'content-type': type }, body });

  return {
    send,
    async begin() {
      const created = await post(200, `${base}/transaction-manager`, TX, '<transaction timeout="PT1H"/>');
      return { uri: created.headers.location ?? '', participants: created.link('participants') };
    },
    async register(participants, uris) {
      await post(201, participants, 'text/uri-list', uris.join('\r\n'));
    },
    async commit(transaction) {
      await post(200, transaction, TX, '<transaction state="committed"/>');
    },
    async reserve(kind, transaction) {
      const body = `<reservation><note>bench</note><link rel="transaction" href="${transaction}"/></reservation>`;
      const made = await post(200, `${base}/${kind}/reservations`, `application/${kind}-rsv+xml`, body);
      return made.link('transaction-state');
    },
    async order(state, uri, status) {
      const headers = { 'content-type': 'application/tx-state+xml' };
      await send(status, uri, { method: 'PUT', headers, body: `<transactional-state state="${state}"/>` });
    },
    close: () => agent.destroy(),
  };
}

/** How often a piece of work is done in a second by so many clients side by side. */
export async function rateOf(clients: number, seconds: number, work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  const until = began + seconds * 1000;
  let done = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < until) {
        await work();
        done++;
      }
    }),
  );
  return (done * 1000) / (performance.now() - began);
}
