/** HTTP of entitlements. */
import { checkIfMatch } from '../../http/conditions.ts';
import { acceptedTypes, type InputOptions, readFields } from '../../http/input.ts';
import type { Operation, Refusal, Route } from '../../http/operation.ts';
import type { Request } from '../../http/request.ts';
import { paths } from '../../paths.ts';
import { Problem } from '../../problems.ts';
import type { ConsumerArea } from '../consumers.ts';
import { readEntitlementUpdate, readNewEntitlement } from '../entitlement.ts';
import type { Input } from '../fields.ts';
import { entitlementDocument, entitlementLinks } from '../views/entitlements.ts';
import {
  AREA,
  CHANGE_HEADERS,
  changeAnswer,
  consumerOf,
  idOf,
  PRODUCES,
  REINSTATEMENT,
  TERMINATION,
  TRANSITION_HEADERS,
  transitionOf,
  transitionTypes,
} from './common.ts';
import { listOperation } from './listing.ts';
import {
  CHANGED_FIELDS,
  CREATED_FIELDS,
  entitlementShape,
  entitlementUpdateShape,
  newEntitlementShape,
  reasonShape,
} from './shapes.ts';

const INPUT: InputOptions = { element: 'entitlement' };

const idOfEntitlement = (request: Request): string => idOf(request, 'unknown-entitlement');

/** The consumer that a body names, by id or URI; undefined when it names none. */
function consumerIn(request: Request, input: Input): string | undefined {
  const { consumer } = input;
  if (consumer === undefined) return undefined;
  const id = typeof consumer === 'string' ? consumerOf(request, consumer.trim()) : undefined;
  if (id !== undefined) return id;
  const detail = 'must be the id or the URI of a consumer of this service';
  throw new Problem('invalid', `consumer ${detail}`, { errors: [{ pointer: '/consumer', detail }] });
}

export function entitlementRoutes(area: ConsumerArea): Route[] {
  const { entitlements } = area;

  async function grant(request: Request, consumer: string, input: Input) {
    const made = await entitlements.create(consumer, readNewEntitlement(input));
    return changeAnswer(request, entitlementDocument(made, area.now()), { created: true });
  }

  const create: Operation = {
    summary: 'Entitle a consumer, named by id or URI, to a product',
    accepts: acceptedTypes(INPUT),
    input: newEntitlementShape,
    headers: { Prefer: 'return=minimal: no content' },
    produces: PRODUCES,
    output: entitlementShape,
    gives: CREATED_FIELDS,
    answers: { 201: 'Created; Location names it' },
    problems: ['bad-body', 'already-entitled', 'unknown-consumer', 'unsupported-media-type', 'invalid'],
    async handle(request) {
      const input = readFields(request, INPUT);
      const consumer = consumerIn(request, input);
      if (consumer !== undefined) return grant(request, consumer, input);
      const errors = [{ pointer: '/consumer', detail: 'must be given' }];
      throw new Problem('invalid', 'consumer must be given', { errors });
    },
  };

  const createBelow: Operation = {
    ...create,
    summary: 'Entitle the consumer to a product',
    async handle(request) {
      const input = readFields(request, INPUT);
      const consumer = idOf(request, 'unknown-consumer');
      const named = consumerIn(request, input);
      if (named === undefined || named === consumer) return grant(request, consumer, input);
      const errors = [{ pointer: '/consumer', detail: `must be ${consumer} or left out` }];
      throw new Problem('invalid', 'the consumer in the body is not the one in the address', { errors });
    },
  };

  const read: Operation = {
    summary: 'An entitlement with the links of what can be done with it now',
    produces: PRODUCES,
    output: entitlementShape,
    gives: { 200: ['ETag'] },
    answers: { 200: 'The entitlement, whatever its state' },
    problems: ['unknown-entitlement'],
    async handle(request) {
      const found = await entitlements.get(idOfEntitlement(request));
      return { status: 200, document: entitlementDocument(found, area.now()) };
    },
  };

  const update: Operation = {
    summary: 'Change quantity, start, end or the name of the product; what is left out stays as it is',
    accepts: acceptedTypes(INPUT),
    input: entitlementUpdateShape,
    headers: CHANGE_HEADERS,
    produces: PRODUCES,
    output: entitlementShape,
    gives: CHANGED_FIELDS,
    answers: { 200: 'The entitlement as it is now' },
    problems: ['bad-body', 'unknown-entitlement', 'already-entitled', 'precondition-failed', 'invalid'],
    async handle(request) {
      const id = idOfEntitlement(request);
      const input = readFields(request, INPUT);
      const wanted = readEntitlementUpdate(input, consumerIn(request, input));
      const changed = await entitlements.update(id, wanted, (version) => checkIfMatch(request, version));
      return changeAnswer(request, entitlementDocument(changed, area.now()));
    },
  };

  const terminate: Operation = {
    summary: 'Terminate an entitlement; it stays so when its consumer is reinstated',
    accepts: transitionTypes(TERMINATION),
    input: reasonShape,
    headers: TRANSITION_HEADERS,
    produces: PRODUCES,
    output: entitlementShape,
    gives: CHANGED_FIELDS,
    answers: { 200: 'The entitlement with its new links' },
    problems: ['bad-body', 'unknown-entitlement', 'state-unchanged', 'precondition-failed', 'invalid'],
    async handle(request) {
      const transition = transitionOf(request, TERMINATION);
      const changed = await entitlements.terminate(idOfEntitlement(request), transition);
      return changeAnswer(request, entitlementDocument(changed, area.now()), transition);
    },
  };

  const reinstate: Operation = {
    ...terminate,
    summary: 'Undo the termination of an entitlement',
    accepts: transitionTypes(REINSTATEMENT),
    problems: [...(terminate.problems ?? []), 'already-entitled', 'consumer-terminated'],
    async handle(request) {
      const transition = transitionOf(request, REINSTATEMENT);
      const changed = await entitlements.reinstate(idOfEntitlement(request), transition);
      return changeAnswer(request, entitlementDocument(changed, area.now()), transition);
    },
  };

  async function refuseDelete(request: Request): Promise<Refusal> {
    const links = entitlementLinks(await entitlements.get(idOfEntitlement(request)));
    const isOver = !links.some(({ rel }) => rel === 'terminate');
    const detail = isOver
      ? 'nothing is deleted here; the entitlement is terminated already'
      : 'DELETE does not terminate an entitlement, and nothing is deleted here; follow the terminate link';
    return { detail, links };
  }

  return [
    {
      resource: paths.consumerEntitlements,
      title: 'The entitlements of a consumer',
      area: AREA,
      operations: { GET: listOperation(area, true), POST: createBelow },
    },
    {
      resource: paths.entitlements,
      title: 'The entitlements',
      area: AREA,
      operations: { GET: listOperation(area, false), POST: create },
    },
    {
      resource: paths.entitlement,
      title: 'An entitlement',
      area: AREA,
      operations: { GET: read, POST: update },
      refusals: { DELETE: refuseDelete },
    },
    {
      resource: paths.terminateEntitlement,
      title: 'Terminating an entitlement',
      area: AREA,
      operations: { POST: terminate },
    },
    {
      resource: paths.reinstateEntitlement,
      title: 'Reinstating an entitlement',
      area: AREA,
      operations: { POST: reinstate },
    },
  ];
}
