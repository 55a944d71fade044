/**
 * What consumers and entitlements have in common over HTTP: each is made, read, changed by its representation, ended and
 * brought back by links, and never deleted. What they are, and what refuses them, each says itself.
 */
import { checkConditions } from '../../http/conditions.ts';
import type { Document } from '../../http/document.ts';
import { acceptedTypes, type InputOptions, readFields } from '../../http/input.ts';
import type { Operation, Refusal, Route, Shape } from '../../http/operation.ts';
import type { Request } from '../../http/request.ts';
import type { Resource } from '../../http/resource.ts';
import type { ProblemCode } from '../../problems.ts';
import type { Input } from '../fields.ts';
import type { Check, Transition } from '../usecases/context.ts';
import { AREA, changeAnswer, idOf, PRODUCES, transitionOf } from './common.ts';
import { CHANGED_FIELDS, CREATED_FIELDS, reasonShape } from './shapes.ts';

const IF_MATCH = { 'If-Match': 'the ETag it must still have' };
const MINIMAL = 'return=minimal: no content';
const STRICT = 'handling=strict: 409 when nothing would change';

interface Creation {
  readonly summary: string;
  readonly input: InputOptions;
  /** What is sent, and what is answered. */
  readonly shapes: readonly [sent: Shape, answered: Shape];
  readonly problems: readonly ProblemCode[];
  make(request: Request, fields: Input): Promise<Document>;
}

export function creation({ summary, input, shapes: [sent, answered], problems, make }: Creation): Operation {
  return {
    summary,
    accepts: acceptedTypes(input),
    input: sent,
    headers: { Prefer: MINIMAL },
    produces: PRODUCES,
    output: answered,
    gives: CREATED_FIELDS,
    answers: { 201: 'Created; Location names it' },
    problems: ['bad-body', 'unsupported-media-type', 'invalid', ...problems],
    async handle(request) {
      return changeAnswer(request, await make(request, readFields(request, input)), { created: true });
    },
  };
}

interface Deed {
  readonly resource: Resource;
  readonly summary: string;
  /** Beyond those that every such operation may answer. */
  readonly problems?: readonly ProblemCode[];
}

/** A thing with a life: `resource` is its own address, the two others are those of its links. */
export interface Living<T> {
  readonly name: 'consumer' | 'entitlement';
  readonly article: 'A' | 'An';
  readonly unknown: ProblemCode;
  readonly shape: Shape;
  readonly update: Deed & { readonly shape: Shape };
  readonly terminate: Deed;
  readonly reinstate: Deed;
  readonly usecases: {
    get(id: string): Promise<T>;
    terminate(id: string, transition: Transition): Promise<T>;
    reinstate(id: string, transition: Transition): Promise<T>;
  };
  /** Reads the fields and changes the thing. */
  change(request: Request, id: string, fields: Input, check: Check): Promise<T>;
  document(thing: T): Document;
}

export function livingRoutes<T>(living: Living<T>): Route[] {
  const { name, article, unknown, shape, usecases, document } = living;
  const input: InputOptions = { element: name };
  const idIn = (request: Request): string => idOf(request, unknown);

  const read: Operation = {
    summary: `${article} ${name} with the links of what can be done with it now`,
    produces: PRODUCES,
    output: shape,
    gives: { 200: ['ETag'] },
    answers: { 200: `The ${name}, terminated or not` },
    problems: [unknown],
    async handle(request) {
      return { status: 200, document: document(await usecases.get(idIn(request))) };
    },
  };

  const changing = { produces: PRODUCES, output: shape, gives: CHANGED_FIELDS } as const;
  const refusals: ProblemCode[] = ['bad-body', unknown, 'precondition-failed', 'unsupported-media-type', 'invalid'];

  const update: Operation = {
    ...changing,
    summary: living.update.summary,
    accepts: acceptedTypes(input),
    input: living.update.shape,
    headers: { ...IF_MATCH, Prefer: MINIMAL },
    answers: { 200: `The ${name} as it is now` },
    problems: [...refusals, ...(living.update.problems ?? [])],
    async handle(request) {
      const check: Check = (version) => checkConditions(request, version);
      const changed = await living.change(request, idIn(request), readFields(request, input), check);
      return changeAnswer(request, document(changed));
    },
  };

  /** `element`: what a reason stands in, in XML. */
  function transition(word: 'terminate' | 'reinstate', element: string): Operation {
    const { summary, problems = [] } = living[word];
    return {
      ...changing,
      summary,
      accepts: acceptedTypes({ element }),
      input: reasonShape,
      headers: { ...IF_MATCH, Prefer: `${STRICT}; ${MINIMAL}` },
      answers: { 200: `The ${name} with its new links` },
      problems: [...refusals, 'state-unchanged', ...problems],
      async handle(request) {
        const how = transitionOf(request, { element });
        return changeAnswer(request, document(await usecases[word](idIn(request), how)), how);
      },
    };
  }

  async function refuseDelete(request: Request): Promise<Refusal> {
    const links = document(await usecases.get(idIn(request))).links.filter(({ rel }) => rel !== 'entitlements');
    const detail = links.some(({ rel }) => rel === 'terminate')
      ? `DELETE does not terminate ${article.toLowerCase()} ${name}, and nothing is deleted here; follow the terminate link`
      : `nothing is deleted here; the ${name} is terminated already`;
    return { detail, links };
  }

  const thing = `${article.toLowerCase()} ${name}`;
  return [
    {
      resource: living.update.resource,
      title: `${article} ${name}`,
      area: AREA,
      operations: { GET: read, POST: update },
      refusals: { DELETE: refuseDelete },
    },
    {
      resource: living.terminate.resource,
      title: `Terminating ${thing}`,
      area: AREA,
      operations: { POST: transition('terminate', 'termination') },
    },
    {
      resource: living.reinstate.resource,
      title: `Reinstating ${thing}`,
      area: AREA,
      operations: { POST: transition('reinstate', 'reinstatement') },
    },
  ];
}
