/** Finds the operation for a request, runs it and has its answer written. Every failure becomes a problem here. */
import findMyWay from 'find-my-way';
import { newRequestId } from '../ids.ts';
import { Problem } from '../problems.ts';
import type { Answer, Offer } from './answer.ts';
import { type BaseUrlOptions, baseOf } from './base-url.ts';
import { allowedMethods, type Method, type Operation, type Refusal, type Route } from './operation.ts';
import { refuseSlips } from './parameters.ts';
import type { Exchange } from './protocol/exchange.ts';
import type { RequestHead } from './protocol/head.ts';
import { HttpRequest } from './request.ts';
import { type Reply, writeAnswer, writeProblem } from './writer.ts';

export interface RouterOptions {
  readonly routes: readonly Route[];
  readonly base: BaseUrlOptions;
  readonly localPath: (uri: string, base: string) => string | undefined;
  readonly cors: (head: RequestHead, allow?: string) => readonly string[];
  /** Told of failures that are ours. */
  readonly onFault: (error: unknown, requestId: string) => void;
}

/** Never rejects: what fails is answered. */
export type Dispatch = (exchange: Exchange) => void;

/** What an address leads to. */
interface Place {
  readonly route: Route;
  readonly parameters: Readonly<Record<string, string>>;
}

/** What is to be done for a request. */
interface Call {
  readonly request: HttpRequest;
  readonly operation: Operation;
}

const NONE: readonly string[] = [];

/** Longer addresses are refused: names have at most 250 characters, each up to three when encoded. */
const MAX_URL = 8192;

export function createRouter(options: RouterOptions): Dispatch {
  const { base, cors, localPath, onFault } = options;
  // All routes hang under one method: whether the method fits is decided here, to answer 405 with Allow.
  const router = findMyWay({ maxParamLength: MAX_URL, ignoreDuplicateSlashes: false });
  for (const route of options.routes) router.on('GET', route.resource.pattern, () => {}, route);
  const allowed = new Map(options.routes.map((route) => [route, allowedMethods(route)]));
  const routeOf = new Map(options.routes.map((route) => [route.resource, route]));

  /** What Allow says of one resource of a route. */
  async function allowOf(route: Route, parameters: Record<string, string | undefined>): Promise<string> {
    const withheld = await route.withheld?.(parameters);
    return withheld?.length ? allowedMethods(route, withheld) : (allowed.get(route) as string);
  }

  function placeAt(path: string): Place {
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
  function find({ id, base, exchange }: Reply): Call | Promise<Answer> | Answer {
    const { head } = exchange;
    checkExpectation(head);
    const taken = exchange.taken as Place | undefined;
    const [path, query] = taken === undefined ? splitTarget(head.target) : [head.target];
    if (path === '*') return answerToStar(head);
    const { route, parameters } = taken ?? placeAt(path);
    if (head.method === 'OPTIONS') return allowOf(route, parameters).then((allow) => optionsAnswer(route, allow));
    const method = (head.method === 'HEAD' ? 'GET' : head.method) as Method;
    const operation = Object.hasOwn(route.operations, method) ? route.operations[method] : undefined;
    const request = new HttpRequest(exchange, { id, path, query, parameters, base, localPath });
    return operation === undefined ? refuse(request, route, method) : { request, operation };
  }

  async function refuse(request: HttpRequest, route: Route, method: Method): Promise<never> {
    const allow = await allowOf(route, request.parameters);
    const refusals = route.refusals ?? {};
    const refusal = Object.hasOwn(refusals, method) ? await refusals[method]?.(request) : undefined;
    throw methodNotAllowed(request.method, route, allow, refusal);
  }

  function fail(reply: Reply, error: unknown): void {
    // Nobody knows for which address the request was meant.
    if (reply.base === '') reply.base = base.configured ?? `http://${reply.exchange.authority}`;
    if (error instanceof Problem) {
      if (error.status >= 500 && error.cause !== undefined) onFault(error.cause, reply.id);
      writeProblem(reply, error);
      return;
    }
    onFault(error, reply.id);
    writeProblem(reply, new Problem('internal', 'the failure was logged under the id of this request'));
  }

  return async (exchange) => {
    const reply: Reply = { id: newRequestId(), base: '', exchange, fields: NONE };
    try {
      const { method, headers } = exchange.head;
      const isPreflight = method === 'OPTIONS' && headers.origin !== undefined;
      reply.fields = cors(exchange.head, isPreflight ? await preflightAllow(exchange.head) : undefined);
      reply.base = baseOf(exchange, base);
      const found = find(reply);
      let answer: Answer | Promise<Answer>;
      if ('operation' in found) {
        const { request, operation } = found;
        const body = exchange.body();
        request.body = body instanceof Promise ? await body : body;
        if (request.query.size > 0) refuseSlips(request.query, operation);
        answer = operation.handle(request);
      } else answer = found;
      if (answer instanceof Promise) answer = await answer;
      if (answer.offers !== undefined) offer(exchange, answer.offers);
      const streaming = writeAnswer(reply, answer);
      if (streaming !== undefined) await streaming;
    } catch (error) {
      try {
        fail(reply, error);
      } catch (another) {
        // The problem itself could not be written, for a field that HTTP does not allow. One without it can.
        reply.fields = NONE;
        fail(reply, another);
      }
    }
  };

  function offer(exchange: Exchange, { href, resource, parameters }: Offer): void {
    const route = routeOf.get(resource);
    if (route !== undefined) exchange.offer(href, { route, parameters } satisfies Place);
  }

  async function preflightAllow({ target }: RequestHead): Promise<string | undefined> {
    const found = router.find('GET', splitTarget(target)[0]);
    const route = found?.store as Route | undefined;
    return found === null || route === undefined ? undefined : allowOf(route, found.params);
  }
}

function checkExpectation({ headers: { expect } }: RequestHead): void {
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new Problem('expectation-failed', 'the only expectation known here is 100-continue');
  }
}

/** `*` stands for the service as a whole, of which only its options can be asked. */
function answerToStar({ method }: RequestHead): Answer {
  if (method === 'OPTIONS') return { status: 204, headers: [['Allow', 'GET, HEAD, POST, PUT, DELETE, LINK, OPTIONS']] };
  throw new Problem('bad-request', 'the target * goes with OPTIONS only');
}

function optionsAnswer(route: Route, allow: string): Answer {
  const accepts = allow.split(', ').includes('POST') ? route.operations.POST?.accepts : undefined;
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
