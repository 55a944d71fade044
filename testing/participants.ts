/** Participants of transactions for tests of running services: good ones, that can be made deaf to an order. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type TestParticipant = {
  readonly uri: string;
  readonly state: string;
  /** The orders that arrived, in their order. */
  readonly seen: readonly string[];
  /** Orders of this state get no answer and have no effect, until `hearAgain`. */
  ignore(order: string): void;
  /** Drops what was ignored: the connections break. */
  hearAgain(): void;
};

export type TestParticipants = { add(): TestParticipant; close(): Promise<void> };

type Known = TestParticipant & { order(state: string, outgoing: ServerResponse): void };

export async function startParticipants(): Promise<TestParticipants> {
  const known = new Map<string, Known>();
  const server = createServer(async (incoming, outgoing) => {
    const body = (await incoming.toArray()).join('');
    const found = known.get(incoming.url ?? '');
    if (found === undefined) return void outgoing.writeHead(404).end();
    found.order(/\sstate="([a-z-]+)"/.exec(body)?.[1] ?? '', outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    add() {
      const path = `/${known.size + 1}`;
      const added = createParticipant(base + path);
      known.set(path, added);
      return added;
    },
    async close() {
      for (const each of known.values()) each.hearAgain();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function createParticipant(uri: string): Known {
  const seen: string[] = [];
  const ignored = new Set<string>();
  const unanswered = new Set<ServerResponse>();
  let present = '';

  /** Rolled back is final, and committed follows prepared only. */
  function mayEnter(state: string): boolean {
    if (state === 'prepared') return present === '';
    if (state === 'committed') return present === 'prepared';
    return state === 'rolled-back' && present !== 'committed';
  }

  return {
    uri,
    seen,
    get state() {
      return present;
    },
    ignore: (order) => void ignored.add(order),
    hearAgain() {
      ignored.clear();
      for (const outgoing of unanswered) outgoing.destroy();
      unanswered.clear();
    },
    order(state, outgoing) {
      if (state !== '') seen.push(state);
      if (ignored.has(state)) return void unanswered.add(outgoing);
      const isLook = state === '' || state === present;
      const isDone = isLook || mayEnter(state);
      if (isDone && !isLook) present = state;
      outgoing.writeHead(isDone ? 200 : 409, { 'content-type': 'application/tx-state+xml' });
      outgoing.end(`<transactional-state${present === '' ? '' : ` state="${present}"`}/>`);
    },
  };
}
