import { type Agent, type IncomingMessage, request as openRequest } from 'node:http';
import { connect } from 'node:net';
import { type Link, parseLinks } from './links.ts';

export type { Link } from './links.ts';

export type RequestOptions = {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  /** Without one, each request has a connection of its own, so that a restarted server meets no stale connection. */
  agent?: Agent;
  signal?: AbortSignal;
  /** Milliseconds until a request without an answer fails; 90 s, longer than any wait of the service. */
  timeout?: number;
};

export type Answer = {
  status: number;
  /** By lower-case name; a field that came several times is joined with commas. */
  headers: Record<string, string>;
  /** Names and values in turn, as they came. */
  rawHeaders: string[];
  body: Buffer;
  text(): string;
  json<T = unknown>(): T;
  /** The links of the Link header. */
  links: Link[];
  /** The target of the one link with this relation; an error that shows the answer when there is none. */
  link(rel: string): string;
};

/** Sends one request and reads the whole answer. Redirects are not followed, no status is an error. */
export function request(url: string | URL, options: RequestOptions = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, agent, signal, timeout = 90_000 } = options;
  const limit = AbortSignal.timeout(timeout);
  return new Promise((resolve, reject) => {
    const outgoing = openRequest(url, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }), ...headers },
      agent: agent ?? false,
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    outgoing.once('error', reject);
    outgoing.once('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.once('error', reject);
      incoming.once('end', () => {
        try {
          resolve(answerOf(incoming, Buffer.concat(chunks), `${method} ${url}`));
        } catch (error) {
          reject(error);
        }
      });
    });
    outgoing.end(body);
  });
}

function answerOf(incoming: IncomingMessage, body: Buffer, asked: string): Answer {
  const status = incoming.statusCode ?? 0;
  const headers = joined(incoming.headersDistinct);
  const links = headers.link === undefined ? [] : parseLinks(headers.link);
  const text = () => body.toString('utf8');
  return {
    status,
    headers,
    rawHeaders: incoming.rawHeaders,
    body,
    text,
    json: <T>() => JSON.parse(text()) as T,
    links,
    link: (rel) => {
      const found = links.find((link) => link.rel.split(' ').includes(rel));
      if (found) return found.href;
      const there = links.map((link) => link.rel).join(', ') || 'none';
      throw new Error(
        `${asked} answered ${status} without a link "${rel}" (links: ${there})\n${text().slice(0, 1000)}`,
      );
    },
  };
}

function joined(fields: NodeJS.Dict<string[]>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, values]) => [name, (values ?? []).join(', ')]));
}

const RAW_TIMEOUT = 10_000;

/**
 * Sends bytes as they are (a string is Latin-1: one character, one byte) and gives back what the server says, as
 * Latin-1 too: until the server closes the connection, or until one whole answer has been read. An error when neither
 * happens within ten seconds.
 */
export function rawExchange(port: number, bytes: string | Buffer): Promise<string> {
  const sent = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  if (typeof bytes === 'string' && sent.toString('latin1') !== bytes)
    throw new Error('Only Latin-1 can be sent as text.');
  const toHead = sent.toString('latin1').startsWith('HEAD ');
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const finish = (error?: Error) => {
      clearTimeout(timer);
      socket.destroy();
      if (error) reject(error);
      else resolve(received);
    };
    const timer = setTimeout(
      () => finish(new Error(`No whole answer after ${RAW_TIMEOUT / 1000} s; so far: ${received}`)),
      RAW_TIMEOUT,
    );
    socket.on('connect', () => socket.write(sent));
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (isWhole(received, toHead)) finish();
    });
    socket.on('close', () => finish());
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A server may refuse the rest of a bad request by a reset, after it has answered.
      const refused = error.code === 'ECONNRESET' || error.code === 'EPIPE';
      finish(refused && received !== '' ? undefined : error);
    });
  });
}

/** Whether the text holds a whole final answer. Interim answers (1xx) come before it. */
function isWhole(text: string, toHead: boolean): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const head = text.slice(0, end);
  const body = text.slice(end + 4);
  const status = Number(/^HTTP\/1\.\d (\d{3})/.exec(head)?.[1]);
  if (status >= 100 && status < 200 && status !== 101) return isWhole(body, toHead);
  if (toHead || status === 101 || status === 204 || status === 304) return true;
  if (/^transfer-encoding:.*\bchunked\b/im.test(head)) return endsChunked(body);
  const length = /^content-length:\s*(\d+)/im.exec(head)?.[1];
  // Without a length the end of the connection is the end of the answer.
  return length !== undefined && body.length >= Number(length);
}

function endsChunked(body: string): boolean {
  let rest = body;
  for (;;) {
    const size = /^([0-9a-fA-F]+)[^\r\n]*\r\n/.exec(rest);
    if (!size) return false;
    const length = Number.parseInt(size[1] ?? '', 16);
    rest = rest.slice(size[0].length);
    if (length === 0) return /^(?:[^\r\n]+\r\n)*\r\n/.test(rest);
    if (rest.length < length + 2) return false;
    rest = rest.slice(length + 2);
  }
}
