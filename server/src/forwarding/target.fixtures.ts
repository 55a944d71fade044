/** A target of forwarding in plain node:http, which speaks the pattern of the seed, and can be made to misbehave. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Arrival {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  readonly body: string;
  readonly at: number;
}

/** Does something else than the pattern says, and tells so by true. */
export type Whim = (request: IncomingMessage, response: ServerResponse, body: string) => boolean | undefined;

export interface Target {
  readonly url: string;
  /** Messages that were accepted, in order. */
  readonly accepted: Arrival[];
  /** Everything that was asked. */
  readonly asked: Arrival[];
  whim: Whim | undefined;
  /** Resolves when that many messages were accepted. */
  received(count: number): Promise<Arrival[]>;
  /** Resolves when this holds; asked again whenever a message was accepted. */
  until(holds: () => boolean): Promise<void>;
  close(): Promise<void>;
}

const WITHIN = 30_000;

/** `/once` gives create-next links, `/next/N` takes one message, anything else takes messages. */
export async function startTarget(): Promise<Target> {
  const accepted: Arrival[] = [];
  const asked: Arrival[] = [];
  const used = new Set<string>();
  const waiting = new Set<() => void>();
  let issued = 0;
  const link = (): string => `</next/${++issued}>; rel="create-next"`;

  const server = createServer(async (request, response) => {
    const { url: path = '', headers, rawHeaders } = request;
    const body = Buffer.concat(await request.toArray().catch(() => [])).toString();
    const arrival = { path, headers, rawHeaders, body, at: performance.now() };
    asked.push(arrival);
    if (target.whim?.(request, response, body)) return;
    if (path.startsWith('/once')) {
      response.writeHead(200, { Link: link() }).end();
      return;
    }
    if (path.startsWith('/next/')) {
      if (used.has(path)) {
        response.writeHead(405, { Link: link(), Allow: 'GET' }).end();
        return;
      }
      used.add(path);
      accept(arrival);
      response.writeHead(200, { Link: link() }).end();
      return;
    }
    accept(arrival);
    response.writeHead(204).end();
  });

  function accept(arrival: Arrival): void {
    accepted.push(arrival);
    for (const look of waiting) look();
  }

  function whenever(holds: () => boolean, what: () => string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(look);
        reject(new Error(`${what()} within ${WITHIN / 1000} s`));
      }, WITHIN);
      const look = (): void => {
        if (!holds()) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target: Target = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accepted,
    asked,
    whim: undefined,
    async received(count) {
      await whenever(
        () => accepted.length >= count,
        () => `${accepted.length} of ${count} messages came`,
      );
      return accepted;
    },
    until: (holds) => whenever(holds, () => `only ${accepted.map(({ body }) => body).join(', ')} came`),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return target;
}
