/** Finds the operation for a request, runs it and has its answer written. Every failure becomes a problem here. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import findMyWay from 'find-my-way';
import { newRequestId } from '../ids.ts';
import { Problem, shown } from '../problems.ts';
import type { Answer } from './answer.ts';
import { type BaseUrlOptions, baseOf } from './base-url.ts';
import type { BodyReader } from './body.ts';
import { allowedMethods, type Method, type Operation, type Refusal, type Route } from './operation.ts';
import { refuseSlips } from './parameters.ts';
import { HttpRequest } from './request.ts';
import { type Exchange, writeAnswer, writeProblem } from './writer.ts';

export interface RouterOptions {
  readonly routes: readonly Route[];
  readonly base: BaseUrlOptions;
  readonly bodies: BodyReader;
  readonly localPath: (uri: string, base: string) => string | undefined;
  readonly cors: (message: IncomingMessage, allow?: string) => readonly string[];
  /** Told of failures that are ours. */
  readonly onFault: (error: unknown, requestId: string) => void;
  /** Whether the connection is to be closed after this answer. */
  readonly draining: () => boolean;
}

/** Never rejects: what fails is answered. */
export type Dispatch = (
  message: IncomingMessage,
  response: ServerResponse<IncomingMessage> & { req: IncomingMessage },
) => void;

/** What is to be done for a request. */
interface Call {
  readonly request: HttpRequest;
  readonly operation: Operation;
}

const NONE: readonly string[] = [];

/** Longer addresses are refused: names have at most 250 characters, each up to three when encoded. */
const MAX_URL = 8192;

export function createRouter(options: RouterOptions): Dispatch {
  const { base, bodies, cors, localPath, onFault, draining } = options;
  // All routes hang under one method: whether the method fits is decided here, to answer 405 with Allow.
  const router = findMyWay({ maxParamLength: MAX_URL, ignoreDuplicateSlashes: false });
  for (const route of options.routes) router.on('GET', route.resource.pattern, () => {}, route);
  const allowed = new Map(options.routes.map((route) => [route, allowedMethods(route)]));

  /** What Allow says of one resource of a route. */
  function allowOf(route: Route, parameters: Record<string, string | undefined>): string {
    const withheld = route.withheld?.(parameters) ?? [];
    return withheld.length > 0 ? allowedMethods(route, withheld) : (allowed.get(route) as string);
  }

  function findRoute(path: string): { route: Route; parameters: Record<string, string> } {
    const found = router.find('GET', path);
    const route = found?.store as Route | undefined;
    if (found === null || route === undefined) {
      // The router answers an address it cannot decode with a handler without a store.
      try {
        decodeURIComponent(path);
      } catch {
        throw new Problem('bad-request', 'the address contains a percent sign that is not followed by two hex digits');
      }
      const shorter = path.replace(/\/+$/, '');
      const isThere = shorter !== path && shorter !== '' && router.find('GET', shorter)?.store !== undefined;
      const hint = isThere ? 'leave out the slash at its end' : 'start at / and follow links';
      throw new Problem('not-found', `no resource has this address; ${hint}`);
    }
    return { route, parameters: found.params as Record<string, string> };
  }

  /** The operation that a request asks for, or what it is answered without one. */
  function find({ id, base, message, response }: Exchange): Call | Promise<Answer> | Answer {
    checkMessage(message);
    const [path, query] = splitTarget(message.url ?? '/');
    if (path === '*') return answerToStar(message);
    const { route, parameters } = findRoute(path);
    if (message.method === 'OPTIONS') {
      return optionsAnswer(route, allowOf(route, parameters), route.withheld?.(parameters) ?? []);
    }
    const method = (message.method === 'HEAD' ? 'GET' : message.method) as Method;
    const operation = Object.hasOwn(route.operations, method) ? route.operations[method] : undefined;
    const request = new HttpRequest(message, response, { id, path, query, parameters, base, localPath });
    return operation === undefined
      ? refuse(request, route, method, allowOf(route, parameters))
      : { request, operation };
  }

  async function refuse(request: HttpRequest, route: Route, method: Method, allow: string): Promise<never> {
    const refusals = route.refusals ?? {};
    const refusal = Object.hasOwn(refusals, method) ? await refusals[method]?.(request) : undefined;
    throw methodNotAllowed(request.method, route, allow, refusal);
  }

  function fail(exchange: Exchange, error: unknown): void {
    if (error instanceof Problem) {
      if (error.status >= 500 && error.cause !== undefined) onFault(error.cause, exchange.id);
      writeProblem(exchange, error);
      return;
    }
    onFault(error, exchange.id);
    writeProblem(exchange, new Problem('internal', 'the failure was logged under the id of this request'));
  }

  return async (message, response) => {
    const exchange: Exchange = { id: newRequestId(), base: '', message, response, fields: NONE, closing: draining };
    try {
      exchange.fields = cors(message, preflightAllow(message));
      exchange.base = baseOf(message, base);
      const found = find(exchange);
      let answer: Answer | Promise<Answer>;
      if ('operation' in found) {
        const { request, operation } = found;
        const body = bodies.read(message);
        request.body = body instanceof Promise ? await body : body;
        if (request.query.size > 0) refuseSlips(request.query, operation.query);
        answer = operation.handle(request);
      } else answer = found;
      const streaming = writeAnswer(exchange, answer instanceof Promise ? await answer : answer);
      if (streaming !== undefined) await streaming;
    } catch (error) {
      fail(exchange, error);
    }
  };

  function preflightAllow(message: IncomingMessage): string | undefined {
    if (message.method !== 'OPTIONS' || message.headers.origin === undefined) return undefined;
    const found = router.find('GET', splitTarget(message.url ?? '/')[0]);
    const route = found?.store as Route | undefined;
    return found === null || route === undefined ? undefined : allowOf(route, found.params);
  }
}

/** What the parser lets pass although HTTP/1.1 does not allow it, or Waypost does not speak it. */
function checkMessage({ headers, httpVersionMajor, httpVersionMinor }: IncomingMessage): void {
  if (httpVersionMajor !== 1) throw new Problem('version-unknown', 'only HTTP/1.1 and HTTP/1.0 are spoken here');
  const coding = headers['transfer-encoding'];
  // RFC 9112, section 6.1: its end cannot be trusted, another reader of the same bytes may see it elsewhere.
  if (httpVersionMinor === 0 && coding !== undefined) {
    throw new Problem('bad-request', 'HTTP/1.0 knows no Transfer-Encoding', { headers: { Connection: 'close' } });
  }
  // The parser undoes chunks only: what was compressed beneath them would be stored as if it were the content.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw new Problem('bad-request', `the only Transfer-Encoding understood here is chunked, not ${shown(coding)}`, {
      headers: { Connection: 'close' },
    });
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new Problem('expectation-failed', 'the only expectation known here is 100-continue');
  }
}

/** `*` stands for the service as a whole, of which only its options can be asked. */
function answerToStar({ method }: IncomingMessage): Answer {
  if (method === 'OPTIONS') return { status: 204, headers: [['Allow', 'GET, HEAD, POST, PUT, DELETE, LINK, OPTIONS']] };
  throw new Problem('bad-request', 'the target * goes with OPTIONS only');
}

function optionsAnswer(route: Route, allow: string, withheld: readonly Method[]): Answer {
  const accepts = withheld.includes('POST') ? undefined : route.operations.POST?.accepts;
  const headers: [string, string][] = [['Allow', allow]];
  if (accepts !== undefined)
    headers.push(['Accept-Post', accepts.map((type) => (type === '*' ? '*/*' : type)).join(', ')]);
  return { status: 204, headers };
}

function methodNotAllowed(method: string, route: Route, allow: string, refusal: Refusal | undefined): Problem {
  const detail = refusal?.detail ?? `${method} is not possible on ${route.title.toLowerCase()}; use ${allow}`;
  return new Problem('method-not-allowed', detail, { headers: { Allow: allow }, links: refusal?.links ?? [] });
}

/** Path and query of a request target, which may be an absolute URI. */
function splitTarget(target: string): [path: string, query: string | undefined] {
  if (target.length > MAX_URL) throw new Problem('uri-too-long', `addresses have at most ${MAX_URL} characters`);
  let path = target;
  if (!path.startsWith('/') && path !== '*') {
    const rest = /^https?:\/\/[^/?#]*(.*)$/i.exec(path)?.[1];
    if (rest === undefined) throw new Problem('bad-request', 'the request target is neither a path nor an http URI');
    path = rest.startsWith('/') ? rest : `/${rest}`;
  }
  const mark = path.indexOf('?');
  return mark < 0 ? [path, undefined] : [path.slice(0, mark), path.slice(mark + 1)];
}
