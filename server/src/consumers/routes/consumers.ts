/** HTTP of consumers. */
import { checkIfMatch } from '../../http/conditions.ts';
import { acceptedTypes, type InputOptions, readFields } from '../../http/input.ts';
import type { Operation, Refusal, Route } from '../../http/operation.ts';
import { pageLinks, pagingQuery, readPage, sliceOf } from '../../http/paging.ts';
import { readQuery } from '../../http/parameters.ts';
import type { Request } from '../../http/request.ts';
import { type Kind, oneOf } from '../../kinds.ts';
import { paths } from '../../paths.ts';
import { type Consumer, LONGEST_KEY, readConsumerUpdate, readNewConsumer } from '../consumer.ts';
import type { ConsumerArea } from '../consumers.ts';
import { consumerDocument, consumerLinks, consumerList } from '../views/consumers.ts';
import {
  AREA,
  CHANGE_HEADERS,
  changeAnswer,
  idOf,
  numberOf,
  PRODUCES,
  REINSTATEMENT,
  TERMINATION,
  TRANSITION_HEADERS,
  transitionOf,
  transitionTypes,
} from './common.ts';
import {
  CHANGED_FIELDS,
  CREATED_FIELDS,
  consumerShape,
  consumerUpdateShape,
  listShape,
  newConsumerShape,
  reasonShape,
} from './shapes.ts';

const INPUT: InputOptions = { element: 'consumer' };

const keyKind: Kind<string> = {
  read: (text) => (text !== '' && text.length <= 2 * LONGEST_KEY && !text.includes('\0') ? text : undefined),
  expected: 'an external key',
  schema: { type: 'string', minLength: 1, maxLength: LONGEST_KEY },
};

const listQuery = {
  ...pagingQuery,
  status: { kind: oneOf('active', 'terminated', 'all'), help: 'which ones; without it all that are not terminated' },
  'external-key': { kind: keyKind, help: 'only the one with this external key' },
} as const;

const idOfConsumer = (request: Request): string => idOf(request, 'unknown-consumer');

export function consumerOnlyRoutes({ consumers }: ConsumerArea): Route[] {
  async function foundByKey(key: string, status: string): Promise<Consumer[]> {
    const found = await consumers.findByKey(key);
    const state = found?.terminated === undefined ? 'active' : 'terminated';
    return found !== undefined && (status === 'all' || status === state) ? [found] : [];
  }

  const list: Operation = {
    summary: 'List the consumers, in an order that never changes; terminated ones are left out',
    query: listQuery,
    produces: PRODUCES,
    output: listShape(consumerShape),
    gives: { 200: ['Link-Template'] },
    answers: { 200: 'The consumers, a page at a time' },
    problems: ['bad-query'],
    async handle(request) {
      const { status = 'active', 'external-key': key } = readQuery(request.query, listQuery);
      const page = readPage(request);
      const from = numberOf(page);
      const found = key === undefined ? await consumers.list(page, from, status) : await foundByKey(key, status);
      const slice = sliceOf(page, found);
      const links = pageLinks(request, slice, ({ n }) => String(n));
      const templates = [{ rel: 'search', href: `${request.path}{?status,external-key,per_page}` }];
      return { status: 200, document: consumerList(slice.items, links), templates };
    },
  };

  const create: Operation = {
    summary: 'Create a consumer',
    accepts: acceptedTypes(INPUT),
    input: newConsumerShape,
    headers: { Prefer: 'return=minimal: no content' },
    produces: PRODUCES,
    output: consumerShape,
    gives: CREATED_FIELDS,
    answers: { 201: 'Created; Location names it' },
    problems: ['bad-body', 'consumer-exists', 'external-key-taken', 'unsupported-media-type', 'invalid'],
    async handle(request) {
      const consumer = await consumers.create(readNewConsumer(readFields(request, INPUT)));
      return changeAnswer(request, consumerDocument(consumer), { created: true });
    },
  };

  const read: Operation = {
    summary: 'A consumer with the links of what can be done with it now',
    produces: PRODUCES,
    output: consumerShape,
    gives: { 200: ['ETag'] },
    answers: { 200: 'The consumer, terminated or not' },
    problems: ['unknown-consumer'],
    async handle(request) {
      return { status: 200, document: consumerDocument(await consumers.get(idOfConsumer(request))) };
    },
  };

  const update: Operation = {
    summary: 'Change a consumer; what is left out stays as it is, and the state never changes',
    accepts: acceptedTypes(INPUT),
    input: consumerUpdateShape,
    headers: CHANGE_HEADERS,
    produces: PRODUCES,
    output: consumerShape,
    gives: CHANGED_FIELDS,
    answers: { 200: 'The consumer as it is now' },
    problems: ['bad-body', 'unknown-consumer', 'external-key-taken', 'precondition-failed', 'invalid'],
    async handle(request) {
      const id = idOfConsumer(request);
      const wanted = readConsumerUpdate(readFields(request, INPUT));
      const consumer = await consumers.update(id, wanted, (version) => checkIfMatch(request, version));
      return changeAnswer(request, consumerDocument(consumer));
    },
  };

  const terminate: Operation = {
    summary: 'Terminate a consumer, and its entitlements with it; nothing is deleted',
    accepts: transitionTypes(TERMINATION),
    input: reasonShape,
    headers: TRANSITION_HEADERS,
    produces: PRODUCES,
    output: consumerShape,
    gives: CHANGED_FIELDS,
    answers: { 200: 'The consumer with its new links' },
    problems: ['bad-body', 'unknown-consumer', 'state-unchanged', 'precondition-failed', 'invalid'],
    async handle(request) {
      const transition = transitionOf(request, TERMINATION);
      const consumer = await consumers.terminate(idOfConsumer(request), transition);
      return changeAnswer(request, consumerDocument(consumer), transition);
    },
  };

  const reinstate: Operation = {
    ...terminate,
    summary: 'Undo the termination of a consumer: its entitlements are what they would be without it',
    accepts: transitionTypes(REINSTATEMENT),
    async handle(request) {
      const transition = transitionOf(request, REINSTATEMENT);
      const consumer = await consumers.reinstate(idOfConsumer(request), transition);
      return changeAnswer(request, consumerDocument(consumer), transition);
    },
  };

  async function refuseDelete(request: Request): Promise<Refusal> {
    const consumer = await consumers.get(idOfConsumer(request));
    const links = consumerLinks(consumer).filter(({ rel }) => rel !== 'entitlements');
    const detail =
      consumer.terminated === undefined
        ? 'DELETE does not terminate a consumer, and nothing is deleted here; follow the terminate link'
        : 'nothing is deleted here; the consumer is terminated already';
    return { detail, links };
  }

  return [
    { resource: paths.consumers, title: 'The consumers', area: AREA, operations: { GET: list, POST: create } },
    {
      resource: paths.consumer,
      title: 'A consumer',
      area: AREA,
      operations: { GET: read, POST: update },
      refusals: { DELETE: refuseDelete },
    },
    { resource: paths.terminateConsumer, title: 'Terminating a consumer', area: AREA, operations: { POST: terminate } },
    { resource: paths.reinstateConsumer, title: 'Reinstating a consumer', area: AREA, operations: { POST: reinstate } },
  ];
}
