/** Participants of transactions as services of their own, on this machine, that do what a case tells them. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseXml } from './xml.ts';

export type ParticipantState = '' | 'prepared' | 'committed' | 'rolled-back' | 'read-only';

/**
 * What it does with one request, instead of what it should: answer with a status (and perhaps a state) without doing
 * anything, do it and lose the answer, lose the request, or keep silent until `release`.
 */
export type Trick = number | { status: number; state: string } | 'answer lost' | 'lost' | 'silent';

export type Participant = {
  readonly uri: string;
  state: ParticipantState;
  /** The orders that arrived, in their order; a look is `GET`. */
  readonly seen: string[];
  /** The next requests of this kind meet these, one each; the last for ever if `always`. */
  trick(what: 'prepared' | 'committed' | 'rolled-back' | 'GET', tricks: Trick[], always?: boolean): void;
  /** All tricks are over, silent requests are dropped. */
  release(): void;
};

export type Participants = {
  participant(hint?: string): Promise<Participant>;
  close(): Promise<void>;
};

type Played = Participant & { play(incoming: IncomingMessage, outgoing: ServerResponse, body: string): void };

export function createParticipants(): Participants {
  const known = new Map<string, Played>();
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const found = known.get(incoming.url ?? '');
      if (found === undefined) return void outgoing.writeHead(404).end();
      found.play(incoming, outgoing, Buffer.concat(chunks).toString());
    });
  });
  let base: Promise<string> | undefined;
  let count = 0;
  const listen = () =>
    new Promise<string>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
      server.unref();
    });

  return {
    async participant(hint = 'participant') {
      base ??= listen();
      // Numbered before anything is waited for: several may be made at once.
      const path = `/${hint}-${++count}/state`;
      const made = createParticipant(`${await base}${path}`);
      known.set(path, made);
      return made;
    },
    async close() {
      for (const each of known.values()) each.release();
      server.closeAllConnections();
      if (base !== undefined) await new Promise((resolve) => server.close(resolve));
    },
  };
}

function createParticipant(uri: string): Played {
  const tricks = new Map<string, { list: Trick[]; always: boolean }>();
  const silent = new Set<ServerResponse>();

  function nextTrick(what: string): Trick | undefined {
    const found = tricks.get(what);
    if (found === undefined) return undefined;
    const trick = found.list[0];
    if (found.list.length > 1 || !found.always) found.list.shift();
    if (found.list.length === 0) tricks.delete(what);
    return trick;
  }

  function answer(outgoing: ServerResponse, status: number, state: string): void {
    outgoing.writeHead(status, { 'content-type': 'application/tx-state+xml' });
    outgoing.end(`<transactional-state${state === '' ? '' : ` state="${state}"`}/>`);
  }

  /** Does what it is told, as a good participant does: rolled back is final, committed follows prepared only. */
  function obey(order: string): number {
    const { state } = self;
    if (order === state) return 200;
    if (order === 'prepared' && state === '') self.state = 'prepared';
    else if (order === 'committed' && state === 'prepared') self.state = 'committed';
    else if (order === 'rolled-back' && state !== 'committed') self.state = 'rolled-back';
    else return 409;
    return 200;
  }

  const self: Played = {
    uri,
    state: '',
    seen: [],
    trick: (what, list, always = false) => void tricks.set(what, { list: [...list], always }),
    release() {
      tricks.clear();
      for (const outgoing of silent) outgoing.destroy();
      silent.clear();
    },
    play({ method }, outgoing, body) {
      const what = method === 'PUT' ? (parseXml(body).attributes.state ?? '') : 'GET';
      self.seen.push(what);
      const trick = nextTrick(what);
      if (typeof trick === 'number') return answer(outgoing, trick, '');
      if (typeof trick === 'object') return answer(outgoing, trick.status, trick.state);
      if (trick === 'lost') return void outgoing.destroy();
      if (trick === 'silent') return void silent.add(outgoing);
      const status = what === 'GET' ? 200 : obey(what);
      if (trick === 'answer lost') return void outgoing.destroy();
      answer(outgoing, status, self.state);
    },
  };
  return self;
}
