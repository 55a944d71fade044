/** HTTP of the listings of entitlements: of one consumer, or of all. */
import type { Link } from '../../http/links.ts';
import type { Operation } from '../../http/operation.ts';
import { badCursor, neighbourLinks, type Page, pagingQuery, readPage } from '../../http/paging.ts';
import { readQuery } from '../../http/parameters.ts';
import type { Request } from '../../http/request.ts';
import { listShape } from '../../http/shapes.ts';
import { type Kind, oneOf, time } from '../../kinds.ts';
import { Problem } from '../../problems.ts';
import type { ConsumerArea } from '../consumers.ts';
import { ENTITLEMENT_STATES, type Key, keyOf } from '../entitlement.ts';
import { END, type EntitlementFilter, type EntitlementPage, START } from '../usecases/listing.ts';
import { entitlementList } from '../views/entitlements.ts';
import { consumerOf, idOf, PRODUCES, reference } from './common.ts';
import { entitlementShape } from './shapes.ts';

const productKind: Kind<string> = {
  read: (text) => (text !== '' && text.length <= 1000 && !text.includes('\0') ? text : undefined),
  expected: 'the id of a product',
  schema: { type: 'string', minLength: 1 },
};

const query = {
  ...pagingQuery,
  status: {
    kind: oneOf(...ENTITLEMENT_STATES, 'all'),
    help: 'only those in this state, or all; without it all that are not terminated',
  },
  product: { kind: productKind, help: 'only those for the product with this id' },
  at: { kind: time, help: 'states at another moment, by what is recorded now' },
} as const;
const queryOfAll = {
  ...query,
  consumer: { kind: reference, help: 'only those of this consumer, named by its id or URI' },
} as const;

/** `below`: those of the consumer in the address. */
export function listOperation(area: ConsumerArea, below: boolean): Operation {
  const spec = below ? query : queryOfAll;
  return {
    summary: below
      ? 'The entitlements of the consumer; terminated ones are left out'
      : 'List or look up entitlements; with a consumer, a product and status=active it tells whether they may use it',
    query: spec,
    produces: PRODUCES,
    output: listShape(entitlementShape),
    gives: { 200: ['Link-Template'] },
    answers: { 200: 'The entitlements, a page at a time; a page may be short and still have a next one' },
    problems: below ? ['bad-query', 'unknown-consumer'] : ['bad-query'],
    async handle(request) {
      const filter = await filterOf(request);
      const page = readPage(request);
      const from = readKey(page);
      const found = await area.listing.list(filter, page, from);
      const links = linksOf(request, page, found);
      const names = `${below ? '' : 'consumer,'}product,status,at,per_page`;
      const templates = [{ rel: 'search', href: `${request.path}{?${names}}` }];
      return { status: 200, document: entitlementList(found.items, links, found.now, filter.at), templates };
    },
  };

  async function filterOf(request: Request): Promise<EntitlementFilter> {
    const { status, product, at } = readQuery(request.query, query);
    const { consumer: word } = below ? {} : readQuery(request.query, queryOfAll);
    let consumer = word === undefined ? undefined : consumerOf(request, word);
    if (word !== undefined && consumer === undefined) {
      const errors = [{ parameter: 'consumer', detail: 'must be the id or the URI of a consumer of this service' }];
      throw new Problem('bad-query', `consumer ${errors[0]?.detail}`, { errors });
    }
    if (below) consumer = (await area.consumers.get(idOf(request, 'unknown-consumer'))).id;
    return {
      ...(consumer === undefined ? {} : { consumer }),
      ...(product === undefined ? {} : { product }),
      ...(status === undefined ? {} : { status }),
      ...(at === undefined ? {} : { at }),
    };
  }
}

const writeKey = ({ consumer, n }: Key): string => `${consumer}.${n}`;

function readKey({ key }: Page): Key | undefined {
  if (key === undefined) return undefined;
  const [, consumer, n] = /^(-1|\d{1,16})\.(-1|\d{1,16})$/.exec(key) ?? [];
  if (consumer === undefined || n === undefined) throw badCursor();
  return { consumer: Number(consumer), n: Number(n) };
}

/** A page that ended before it was full goes on where it ended, whether it has items or not. */
function linksOf(request: Request, { backwards }: Page, found: EntitlementPage): Link[] {
  const { items, hasNext, hasPrevious, reached } = found;
  const [first, last] = [items[0], items.at(-1)];
  const end = !backwards && reached !== undefined ? reached : last && keyOf(last);
  const start = backwards && reached !== undefined ? reached : first && keyOf(first);
  return neighbourLinks(request, {
    next: hasNext ? writeKey(end ?? reached ?? START) : undefined,
    prev: hasPrevious ? writeKey(start ?? reached ?? END) : undefined,
  });
}
