/** How an area declares its routes. The router serves them, the service description is made from them. */
import type { ProblemCode } from '../problems.ts';
import type { Answer } from './answer.ts';
import type { QuerySpec } from './parameters.ts';
import type { Request } from './request.ts';
import type { Resource } from './resource.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'LINK';

export interface Operation {
  readonly summary: string;
  /** Query parameters the handler reads. */
  readonly query?: QuerySpec;
  /** Request header fields the handler reads, with what they are for. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Media types of the request body; `*` takes any content. */
  readonly accepts?: readonly string[];
  /** Media types of successful answers with content; `*` for a message's own. */
  readonly produces?: readonly string[];
  /** What each successful status means. */
  readonly answers: Readonly<Record<number, string>>;
  readonly problems?: readonly ProblemCode[];
  handle(request: Request): Answer | Promise<Answer>;
}

export interface Route {
  readonly resource: Resource;
  readonly title: string;
  /** The area, for grouping in the description. */
  readonly area: string;
  readonly operations: Readonly<Partial<Record<Method, Operation>>>;
  /** Methods that are not there on purpose: what to say, and where to go instead, to a client that tries one. */
  readonly refusals?: Readonly<Partial<Record<Method, (request: Request) => Promise<Refusal>>>>;
}

/** Belongs to a 405. */
export interface Refusal {
  readonly detail: string;
  readonly links: readonly { readonly rel: string; readonly href: string }[];
}

/** The methods a resource answers, for Allow. HEAD comes with GET; OPTIONS is always there. */
export function allowedMethods(route: Route): string {
  const methods = Object.keys(route.operations).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...methods, 'OPTIONS'].join(', ');
}
