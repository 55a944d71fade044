/** HTTP of consumers. */
import type { Operation, Route } from '../../http/operation.ts';
import { pageLinks, pagingQuery, readPage, sliceOf } from '../../http/paging.ts';
import { readQuery } from '../../http/parameters.ts';
import { listShape } from '../../http/shapes.ts';
import { type Kind, oneOf } from '../../kinds.ts';
import { paths } from '../../paths.ts';
import { type Consumer, LONGEST_KEY, readConsumerUpdate, readNewConsumer, stateOf } from '../consumer.ts';
import type { ConsumerArea } from '../consumers.ts';
import { consumerDocument, consumerList } from '../views/consumers.ts';
import { AREA, numberOf, PRODUCES } from './common.ts';
import { creation, livingRoutes } from './lifecycle.ts';
import { consumerShape, consumerUpdateShape, newConsumerShape } from './shapes.ts';

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

export function consumerOnlyRoutes({ consumers }: ConsumerArea): Route[] {
  async function foundByKey(key: string, status: string): Promise<Consumer[]> {
    const found = await consumers.findByKey(key);
    return found !== undefined && (status === 'all' || status === stateOf(found)) ? [found] : [];
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

  const create = creation({
    summary: 'Create a consumer',
    input: { element: 'consumer' },
    shapes: [newConsumerShape, consumerShape],
    problems: ['consumer-exists', 'external-key-taken'],
    make: async (_request, fields) => consumerDocument(await consumers.create(readNewConsumer(fields))),
  });

  const living = livingRoutes({
    name: 'consumer',
    article: 'A',
    unknown: 'unknown-consumer',
    shape: consumerShape,
    update: {
      resource: paths.consumer,
      summary: 'Change a consumer; what is left out stays as it is, and the state never changes',
      shape: consumerUpdateShape,
      problems: ['external-key-taken'],
    },
    terminate: {
      resource: paths.terminateConsumer,
      summary: 'Terminate a consumer, and its entitlements with it; nothing is deleted',
    },
    reinstate: {
      resource: paths.reinstateConsumer,
      summary: 'Undo the termination of a consumer: its entitlements are what they would be without it',
    },
    usecases: consumers,
    change: (_request, id, fields, check) => consumers.update(id, readConsumerUpdate(fields), check),
    document: consumerDocument,
  });

  return [
    { resource: paths.consumers, title: 'The consumers', area: AREA, operations: { GET: list, POST: create } },
    ...living,
  ];
}
