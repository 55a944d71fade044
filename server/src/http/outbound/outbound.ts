/**
 * The one place from which Waypost calls other services (forwarding, transactions, notices). What is called may be
 * hostile: where the call goes is checked when connecting, it ends in bounded time, no more than a bounded answer is read,
 * redirects are not followed and proxies from the environment are not used.
 */
import { Agent, type Dispatcher } from 'undici';
import type { Cidr } from '../../kinds.ts';
import { Problem } from '../../problems.ts';
import { createAddressRule } from './addresses.ts';
import { callableAddresses, createConnector, type Resolver, systemResolver } from './connect.ts';
import { asOutboundError, OutboundError } from './error.ts';

export { OutboundError, type OutboundFailure } from './error.ts';

export interface OutboundRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: Buffer | string | null;
  /** Milliseconds until the whole answer must be there. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  /** Most bytes of the answer's body. */
  readonly maxBody?: number;
  /** A body beyond `maxBody` is left unread (`cut`), instead of being a failure: for callers who need no body. */
  readonly mayCut?: boolean;
}

export interface OutboundAnswer {
  readonly status: number;
  /** By name in lower case; several fields of one name are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The body was longer than was wanted; `body` holds its beginning. */
  readonly cut: boolean;
}

export interface Outbound {
  /** What is wrong with a URL that someone wants to have called: a 422, or undefined when nothing is. */
  check(url: string): Promise<Problem | undefined>;
  /** Sends one request. Rejects with an `OutboundError` only. */
  send(request: OutboundRequest): Promise<OutboundAnswer>;
  /** Breaks off what is under way. */
  close(): Promise<void>;
}

export interface OutboundOptions {
  /** Ranges beyond the public internet that may be called. */
  readonly allow?: readonly Cidr[];
  readonly timeout?: number;
  /** Connections to one host; what goes beyond waits. */
  readonly connectionsPerHost?: number;
  readonly resolve?: Resolver;
  /** Whether this host and port are the service's own listening socket, which may be called wherever it is. */
  readonly isOwn?: (host: string) => boolean;
  readonly tls?: { readonly ca?: string };
}

const TIMEOUT = 15_000;
const MAX_BODY = 64 * 1024;
const MAX_HEADERS = 16 * 1024;
/** More than the retries that are made at once: targets that hang must not keep their neighbours waiting. */
const CONNECTIONS_PER_HOST = 1024;
/** A connection unused for this long is closed. Short of what common servers do, so that they seldom close first. */
const KEEP_ALIVE = 4000;
const LONGEST_KEEP_ALIVE = 60_000;

export function createOutbound(options: OutboundOptions = {}): Outbound {
  const { timeout: usualTimeout = TIMEOUT, resolve = systemResolver, isOwn = () => false } = options;
  const mayCall = createAddressRule(options.allow ?? []);
  const agent = new Agent({
    connect: createConnector({ resolve, mayCall, isOwn }, options.tls),
    connections: options.connectionsPerHost ?? CONNECTIONS_PER_HOST,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE,
    keepAliveMaxTimeout: LONGEST_KEEP_ALIVE,
    maxHeaderSize: MAX_HEADERS,
    // One deadline for the whole exchange is kept below; these two would be looser and cost a timer each.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  async function check(given: string): Promise<Problem | undefined> {
    const url = readTarget(given);
    if (typeof url === 'string') return new Problem('address-refused', url);
    if (isOwn(url.host)) return undefined;
    try {
      await callableAddresses(url.hostname, resolve, mayCall);
      return undefined;
    } catch (error) {
      // A name that cannot be resolved now may be later: then the call decides.
      const refused = error instanceof OutboundError && error.kind === 'refused-address';
      return refused ? new Problem('address-refused', error.message) : undefined;
    }
  }

  function send(request: OutboundRequest): Promise<OutboundAnswer> {
    const { method, url: given, headers = [], body = null, signal } = request;
    const { timeout = usualTimeout, maxBody = MAX_BODY, mayCut = false } = request;
    const url = readTarget(given);
    if (typeof url === 'string') return Promise.reject(new OutboundError('refused-address', url));
    return new Promise((succeed, fail) => {
      const exchange = createExchange({ maxBody, mayCut }, settle);
      const timer = setTimeout(
        () => exchange.giveUp(new OutboundError('timeout', `no complete answer within ${timeout / 1000} s`)),
        timeout,
      );
      const onAbort = (): void => exchange.giveUp(new OutboundError('aborted', 'the call was broken off'));

      function settle(result: OutboundAnswer | OutboundError): void {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        if (result instanceof OutboundError) fail(result);
        else succeed(result);
      }

      if (signal?.aborted) return onAbort();
      signal?.addEventListener('abort', onAbort);
      try {
        agent.dispatch(
          {
            origin: url.origin,
            path: `${url.pathname}${url.search}`,
            method: method as Dispatcher.HttpMethod,
            headers: headers.flat(),
            body,
          },
          exchange.handler,
        );
      } catch (error) {
        exchange.giveUp(asOutboundError(error));
      }
    });
  }

  return { check, send, close: () => agent.destroy(new OutboundError('closed', 'the service is stopping')) };
}

/** The URL, or what keeps it from being called whatever its address. */
function readTarget(given: string): URL | string {
  const url = URL.parse(given);
  if (url === null) return 'it is not an absolute URL';
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `only http and https are called, not ${url.protocol}`;
  if (url.username !== '' || url.password !== '') return 'it must not hold a user name or a password';
  return url;
}

interface Exchange {
  readonly handler: Dispatcher.DispatchHandler;
  giveUp(error: OutboundError): void;
}

/** Collects one answer within its bounds and settles once. */
function createExchange(
  { maxBody, mayCut }: { readonly maxBody: number; readonly mayCut: boolean },
  settle: (result: OutboundAnswer | OutboundError) => void,
): Exchange {
  let settled = false;
  let current: Dispatcher.DispatchController | undefined;
  let status = 0;
  let fields: Readonly<Record<string, string>> = {};
  const chunks: Buffer[] = [];
  let size = 0;

  function finish(result: OutboundAnswer | OutboundError): void {
    if (settled) return;
    settled = true;
    if (result instanceof OutboundError) result.sent = current !== undefined;
    settle(result);
  }

  function giveUp(error: OutboundError): void {
    finish(error);
    // Closes the connection: nothing more of an answer is read.
    current?.abort(error);
  }

  const answer = (cut: boolean): OutboundAnswer => ({ status, headers: fields, body: Buffer.concat(chunks), cut });

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      current = controller;
      // It waited for a connection for too long: what the caller gave up must not be sent after all.
      if (settled) controller.abort(new OutboundError('aborted', 'the call was given up'));
    },
    onResponseStart(_, statusCode, headers) {
      status = statusCode;
      fields = joined(headers);
    },
    onResponseData(controller, chunk) {
      if (settled) return;
      if (size + chunk.length <= maxBody) {
        chunks.push(chunk);
        size += chunk.length;
        return;
      }
      const tooLarge = new OutboundError('too-large', `the answer has more than ${maxBody} bytes`);
      if (mayCut) {
        chunks.push(chunk.subarray(0, maxBody - size));
        finish(answer(true));
      }
      finish(tooLarge);
      controller.abort(tooLarge);
    },
    onResponseEnd() {
      finish(answer(false));
    },
    onResponseError(_, error) {
      finish(asOutboundError(error));
    },
  };
  return { handler, giveUp };
}

function joined(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) fields[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return fields;
}
