/** Targets of forwarding as services of their own, on this machine, that do what a case tells them. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A message that a target was given. */
export type Arrival = { path: string; headers: IncomingHttpHeaders; body: string };

export type Target = {
  /** Where messages are posted, where links are asked for, and where batches go. */
  readonly messages: string;
  readonly once: string;
  readonly batches: string;
  /** What it accepted, in order. */
  readonly accepted: Arrival[];
  /** How often a create-next link was asked for. */
  readonly asked: number;
  /** The next requests that carry a message meet these instead. 'lost': it is accepted, but nobody hears of it. */
  trick(...tricks: (((response: ServerResponse) => void) | 'lost')[]): void;
};

export type Targets = { target(): Promise<Target>; close(): Promise<void> };

type Served = Target & { serve(arrival: Arrival, response: ServerResponse): void };

export function createTargets(): Targets {
  const known: Served[] = [];
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const { url: path = '', headers } = incoming;
      const index = Number(/^\/(\d+)\//.exec(path)?.[1]);
      known[index]?.serve({ path, headers, body: Buffer.concat(chunks).toString() }, outgoing);
    });
  });
  let base: Promise<string> | undefined;
  const listen = () =>
    new Promise<string>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
      server.unref();
    });
  return {
    async target() {
      base ??= listen();
      const made = createTarget(`${await base}/${known.length}`, `/${known.length}`);
      known.push(made);
      return made;
    },
    async close() {
      server.closeAllConnections();
      if (base !== undefined) await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Speaks the pattern of the seed: a create-next link takes one message, then it answers 405. */
function createTarget(base: string, prefix: string): Served {
  const accepted: Arrival[] = [];
  const used = new Set<string>();
  const tricks: Parameters<Target['trick']> = [];
  let issued = 0;
  let asked = 0;
  const nextLink = () => ({ Link: `<${prefix}/next/${++issued}>; rel="create-next"` });

  return {
    messages: `${base}/messages`,
    once: `${base}/once`,
    batches: `${base}/batches`,
    accepted,
    get asked() {
      return asked;
    },
    trick: (...more) => void tricks.push(...more),
    serve(arrival, response) {
      if (arrival.path === `${prefix}/once`) {
        asked += 1;
        response.writeHead(200, nextLink()).end();
        return;
      }
      const trick = tricks.shift();
      if (typeof trick === 'function') return trick(response);
      const isLink = arrival.path.startsWith(`${prefix}/next/`);
      const isRepeat = isLink && used.has(arrival.path);
      if (isLink) used.add(arrival.path);
      if (!isRepeat) accepted.push(arrival);
      if (trick === 'lost') return void response.destroy();
      response.writeHead(isRepeat ? 405 : 200, isLink ? nextLink() : {}).end();
    },
  };
}
