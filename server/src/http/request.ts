/** A request as handlers see it: read once, complete, with nothing of the socket but whether the client is still there. */
import { parseQuery, type Query } from './parameters.ts';
import { type Preferences, parsePrefer } from './prefer.ts';
import type { Exchange } from './protocol/exchange.ts';
import type { RequestHeaders } from './protocol/fields.ts';

export interface Request {
  readonly id: string;
  readonly method: string;
  /** The path as it was sent, without the query. */
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly headers: RequestHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** The address under which this client sees the service, without a slash at its end. */
  readonly base: string;
  readonly prefer: Preferences;
  /** Whether the client is known to have hung up. */
  readonly gone: boolean;
  /** Gives a function that takes the wish back. */
  onGone(callback: () => void): () => void;
  /** Whether it would go unnoticed if the client hung up, since it has sent too much behind this request. */
  readonly unwatched: boolean;
  /** Calls back when that begins. Gives a function that takes the wish back. */
  onUnwatched(callback: () => void): () => void;
  /** The path of a URI of this service, undefined for any other URI. */
  localPath(uri: string): string | undefined;
}

const EMPTY = Buffer.alloc(0);
const NO_PREFERENCES: Preferences = parsePrefer(undefined);

export interface RequestParts {
  readonly id: string;
  readonly path: string;
  readonly query: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  readonly base: string;
  readonly localPath: (uri: string, base: string) => string | undefined;
}

export class HttpRequest implements Request {
  readonly id: string;
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly base: string;
  readonly query: Query;
  body: Buffer = EMPTY;
  readonly #exchange: Exchange;
  readonly #localPath: RequestParts['localPath'];

  constructor(exchange: Exchange, parts: RequestParts) {
    this.#exchange = exchange;
    this.id = parts.id;
    this.path = parts.path;
    this.parameters = parts.parameters;
    this.base = parts.base;
    this.query = parseQuery(parts.query);
    this.#localPath = parts.localPath;
  }

  get method(): string {
    return this.#exchange.head.method;
  }

  get headers(): RequestHeaders {
    return this.#exchange.head.headers;
  }

  get rawHeaders(): readonly string[] {
    return this.#exchange.head.fields.raw;
  }

  get prefer(): Preferences {
    const { prefer } = this.headers;
    return prefer === undefined ? NO_PREFERENCES : parsePrefer(prefer);
  }

  get gone(): boolean {
    return this.#exchange.gone;
  }

  onGone(callback: () => void): () => void {
    return this.#exchange.onGone(callback);
  }

  get unwatched(): boolean {
    return this.#exchange.unwatched;
  }

  onUnwatched(callback: () => void): () => void {
    return this.#exchange.onUnwatched(callback);
  }

  localPath(uri: string): string | undefined {
    return this.#localPath(uri, this.base);
  }
}
