import assert from 'node:assert/strict';
import { type IncomingMessage, request as openPlain } from 'node:http';
import { request as openSecure } from 'node:https';
import { type Link, parseLinks, parseTemplates, type Template } from './links.ts';
import { type Element, parseXml } from './xml.ts';

/**
 * Where a request goes. An absolute URI, as links carry them, is used as it is. A stored address begins with `/` and
 * stands for the same resource on every node: such requests go to the nodes in turn.
 */
export type Address = string;

export type Options = {
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  /** Added to the query of the address. Queries are options of an operation, not part of a resource's address. */
  query?: Record<string, string | number>;
  /** Milliseconds; longer than any wait a case asks for. */
  timeout?: number;
};

export type Answer = {
  /** For messages: what was asked. */
  asked: string;
  url: string;
  status: number;
  /** By lower-case name; a field that came several times is joined with commas. */
  headers: Record<string, string | undefined>;
  /** The values of a field one by one, as they came. */
  fields(name: string): string[];
  body: Buffer;
  text(): string;
  json<T = Record<string, unknown>>(): T;
  xml(): Element;
  /** The links of the Link field. */
  links: Link[];
  templates: Template[];
  /** The target of the link with this relation; an error that shows the answer when there is none. */
  link(rel: string): string;
  has(rel: string): boolean;
  template(rel: string): string;
  /** Fails, showing the answer, unless it has one of these statuses. Gives itself back. */
  expect(...statuses: number[]): Answer;
};

/** A request under way. */
export type Exchange = {
  answer: Promise<Answer>;
  /** Settles when the request has left. */
  sent: Promise<void>;
  /** Hangs up. The answer then fails. */
  hangUp(): void;
};

export type Client = {
  readonly bases: readonly string[];
  begin(method: string, address: Address, options?: Options): Exchange;
  send(method: string, address: Address, options?: Options): Promise<Answer>;
  get(address: Address, options?: Options): Promise<Answer>;
  head(address: Address, options?: Options): Promise<Answer>;
  post(address: Address, options?: Options): Promise<Answer>;
  put(address: Address, options?: Options): Promise<Answer>;
  delete(address: Address, options?: Options): Promise<Answer>;
  /** The one address to know, on the nodes in turn. */
  root(): Promise<Answer>;
  /** What is left of a link of this service when it is to be used on any node. Other links stay as they are. */
  store(href: string): Address;
};

const TIMEOUT = 45_000;

/** A client of one service that listens on these base URLs. They may become known after the client was made. */
export function createClient(bases: () => readonly string[]): Client {
  let turn = 0;
  const resolve = (address: Address): string => {
    if (!address.startsWith('/')) return address;
    const known = bases();
    const base = known[turn++ % known.length];
    if (base === undefined) throw new Error('the client knows no base URL');
    return base + address;
  };
  const begin: Client['begin'] = (method, address, options = {}) =>
    open(method, withQuery(resolve(address), options.query), options);
  const send: Client['send'] = (method, address, options) => begin(method, address, options).answer;
  return {
    get bases() {
      return bases();
    },
    begin,
    send,
    get: (address, options) => send('GET', address, options),
    head: (address, options) => send('HEAD', address, options),
    post: (address, options) => send('POST', address, options),
    put: (address, options) => send('PUT', address, options),
    delete: (address, options) => send('DELETE', address, options),
    root: () => send('GET', '/'),
    store(href) {
      const base = bases().find((each) => href.startsWith(`${each}/`));
      return base === undefined ? href : href.slice(base.length);
    },
  };
}

function withQuery(url: string, query: Options['query']): string {
  if (query === undefined) return url;
  const values = Object.entries(query).map(([name, value]) => [name, String(value)]);
  return `${url}${url.includes('?') ? '&' : '?'}${new URLSearchParams(values)}`;
}

/** Sends exactly the address given: the URL class would tidy it up, and faults would hide behind that. */
function open(method: string, url: string, { headers = {}, body, timeout = TIMEOUT }: Options): Exchange {
  const parts = /^(https?):\/\/(\[[^\]]*\]|[^/?#:]*)(?::(\d+))?([^#]*)$/.exec(url);
  if (!parts) throw new Error(`not an absolute http(s) URI: ${url}`);
  const [, scheme, host = '', port, path = ''] = parts;
  const outgoing = (scheme === 'https' ? openSecure : openPlain)({
    method,
    host: host.replace(/^\[|\]$/g, ''),
    port: port ?? (scheme === 'https' ? 443 : 80),
    path: path.startsWith('/') ? path : `/${path}`,
    headers: { ...lengthOf(body, headers), ...headers },
    // A connection of its own for each request: a case that breaks its connection disturbs no other.
    agent: false,
    maxHeaderSize: 256 * 1024,
    signal: AbortSignal.timeout(timeout),
  });
  const asked = `${method} ${url}`;
  const answer = new Promise<Answer>((resolve, reject) => {
    // A server that refuses a body may close before all of it was sent: what it said counts, if it said something.
    outgoing.once('error', (error) => reject(new Error(`${asked}: ${error.message}`, { cause: error })));
    outgoing.once('response', (incoming) => {
      read(incoming).then((content) => resolve(answerOf(asked, url, incoming, content)), reject);
    });
  });
  const sent = new Promise<void>((resolve) => outgoing.once('finish', resolve));
  // As bytes: with a text Node would encode the fields, which are bytes already, like the body.
  outgoing.end(typeof body === 'string' ? Buffer.from(body) : body);
  return { answer, sent, hangUp: () => void outgoing.destroy() };
}

function lengthOf(body: string | Buffer | undefined, headers: object): Record<string, number> {
  return body === undefined || 'transfer-encoding' in headers ? {} : { 'content-length': Buffer.byteLength(body) };
}

async function read(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function answerOf(asked: string, url: string, incoming: IncomingMessage, body: Buffer): Answer {
  const values = incoming.headersDistinct;
  const headers = Object.fromEntries(Object.entries(values).map(([name, each]) => [name, each?.join(', ')]));
  const status = incoming.statusCode ?? 0;
  const links = parseLinks(headers.link ?? '');
  const templates = parseTemplates(headers['link-template'] ?? '');
  const text = () => body.toString('utf8');
  const find = (rel: string) => links.find((link) => link.rel.split(' ').includes(rel));
  const shown = () => `${asked} answered ${status}: ${JSON.stringify(headers)}\n${text().slice(0, 1000)}`;
  const answer: Answer = {
    asked,
    url,
    status,
    headers,
    fields: (name) => values[name.toLowerCase()] ?? [],
    body,
    text,
    json: <T>() => JSON.parse(text()) as T,
    xml: () => parseXml(text()),
    links,
    templates,
    has: (rel) => find(rel) !== undefined,
    link: (rel) => find(rel)?.href ?? assert.fail(`no link "${rel}": ${shown()}`),
    template: (rel) =>
      templates.find((each) => each.rel === rel)?.template ?? assert.fail(`no template "${rel}": ${shown()}`),
    expect(...statuses) {
      assert.ok(statuses.includes(status), `expected ${statuses.join(' or ')}: ${shown()}`);
      return answer;
    },
  };
  return answer;
}
