/** How an area declares its routes. The router serves them, the service description is made from them. */
import type { ProblemCode } from '../problems.ts';
import type { Answer } from './answer.ts';
import type { AnswerField } from './answer-fields.ts';
import type { QuerySpec } from './parameters.ts';
import type { Request } from './request.ts';
import type { Resource } from './resource.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'LINK';

/** What a body holds, under a name, for the description of the service. */
export interface Shape {
  readonly name: string;
  /** As JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly example?: unknown;
  /** The example in XML, whose form a schema cannot tell. */
  readonly xml?: string;
}

export interface Operation {
  readonly summary: string;
  /** Query parameters the handler reads. */
  readonly query?: QuerySpec;
  /** Request header fields the handler reads, with what they are for. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Media types of the request body; `*` takes any content. */
  readonly accepts?: readonly string[];
  /** The fields of the body, the same in JSON, XML and forms. */
  readonly input?: Shape;
  /** Media types of successful answers with content; `*` for a message's own. */
  readonly produces?: readonly string[];
  /** The fields of the document that is answered, the same in JSON and XML. */
  readonly output?: Shape;
  /** Header fields of successful answers, by status, beyond those that every answer or document has. */
  readonly gives?: Readonly<Record<number, readonly AnswerField[]>>;
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
  /** Methods that some of these resources refuse to everyone, for good or by now: Allow does not name them there. */
  readonly withheld?: (
    parameters: Readonly<Record<string, string | undefined>>,
  ) => readonly Method[] | Promise<readonly Method[]>;
  /** Methods that are not there on purpose: what to say, and where to go instead, to a client that tries one. */
  readonly refusals?: Readonly<Partial<Record<Method, (request: Request) => Promise<Refusal>>>>;
}

/** Belongs to a 405. */
export interface Refusal {
  readonly detail: string;
  readonly links: readonly { readonly rel: string; readonly href: string }[];
}

/** The methods a resource answers, for Allow. HEAD comes with GET; OPTIONS is always there. */
export function allowedMethods(route: Route, withheld: readonly Method[] = []): string {
  const methods = (Object.keys(route.operations) as Method[])
    .filter((method) => !withheld.includes(method))
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...methods, 'OPTIONS'].join(', ');
}
