/** Every statement of the listings, from the first, a middle and the last page, in both directions, and how it must go. */
import type { SqlValue, Store } from '../store/store.ts';
import { FIRST } from './filling.fixtures.ts';
import { BY_KEY, listConsumersText } from './queries/consumers.ts';
import { entitledText, entitlementsOfText, RIVAL, rangeStatement, type Scope } from './queries/entitlements.ts';

export interface LookedAt {
  readonly name: string;
  readonly text: string;
  readonly values: readonly SqlValue[];
  /** The index that it must go along; the engines number some of them. */
  readonly index: RegExp;
  /** What SQLite must find by that index, as it says it: everything else would be passed over row by row. */
  readonly found: string;
}

export const PAGE = 101;

/** How many entitlements the heavy consumer has, and where they begin. */
export interface Heavy {
  readonly consumer: number;
  readonly first: number;
  readonly count: number;
}

/** `consumers`: how many there are beside the heavy one, which stands behind them. */
export function listingStatements(dialect: Store['dialect'], consumers: number, heavy: Heavy): LookedAt[] {
  const some = FIRST + Math.floor(consumers / 2);
  const several = dialect.list(Array.from({ length: 30 }, (_, i) => some + i));
  const marked = /entitlement_marked/;
  const product = /entitlement_product/;
  return [
    {
      name: 'consumer by its external key',
      text: BY_KEY,
      values: ['none'],
      index: /consumer_key/,
      found: 'key=?',
    },
    {
      name: 'another entitlement to the same product',
      text: RIVAL,
      values: ['product 5', some, 5, 'x'],
      index: product,
      found: 'product=? AND consumer=?',
    },
    {
      name: 'standing entitlements of thirty consumers',
      text: entitlementsOfText(dialect),
      values: [several],
      index: marked,
      found: 'marked=? AND consumer=?',
    },
    ...[false, true].flatMap((backwards) => [
      ...ofConsumers(backwards, consumers),
      ...ofEntitlements(backwards, consumers, heavy),
    ]),
  ];
}

interface Place {
  readonly name: string;
  readonly behind: number;
}

/** The first page of a walk, one in the middle, and the last. */
function placesOf(first: number, count: number, backwards: boolean): Place[] {
  const [start, end] = backwards ? [Number.MAX_SAFE_INTEGER, first + PAGE] : [-1, first + count - PAGE];
  return [
    { name: 'first page', behind: start },
    { name: 'middle page', behind: first + Math.floor(count / 2) },
    { name: 'last page', behind: end },
  ];
}

function ofConsumers(backwards: boolean, consumers: number): LookedAt[] {
  const [direction, sign] = backwards ? ['backwards', '<'] : ['forwards', '>'];
  const statements = [
    ...(['active', 'terminated'] as const).map((status) => ({
      name: `${status} consumers`,
      text: listConsumersText(backwards, status),
      index: /consumer_state/,
      found: `state=? AND n${sign}?`,
    })),
    {
      name: 'all consumers',
      text: listConsumersText(backwards, 'all'),
      index: /consumer_pkey|PRIMARY KEY/,
      found: `rowid${sign}?`,
    },
    ...[false, true].map((terminated) => ({
      name: `${terminated ? 'terminated' : 'active'} consumers with entitlements`,
      text: entitledText(terminated, backwards),
      index: /consumer_entitled/,
      found: `state=? AND n${sign}?`,
    })),
  ];
  return placesOf(FIRST, consumers, backwards).flatMap((place) =>
    statements.map((statement) => ({
      ...statement,
      name: `${statement.name}, ${direction}, ${place.name}`,
      values: [place.behind, PAGE],
    })),
  );
}

function ofEntitlements(backwards: boolean, consumers: number, heavy: Heavy): LookedAt[] {
  const [direction, sign] = backwards ? ['backwards', '<'] : ['forwards', '>'];
  const scopes: [name: string, scope: Scope, index: RegExp, found: string][] = [
    ['standing entitlements', { marked: false }, /entitlement_marked/, 'marked=?'],
    ['terminated entitlements', { marked: true }, /entitlement_marked/, 'marked=?'],
    ['entitlements to a product', { product: 'product 5' }, /entitlement_product/, 'product=?'],
  ];
  return scopes.flatMap(([name, scope, index, found]) => {
    const looked = (more: string, own: Scope, behind: number, rest: string): LookedAt => {
      const statement = rangeStatement({ ...own, behind, backwards, limit: PAGE });
      return { name: `${name}${more}`, ...statement, index, found: `${found} AND ${rest}` };
    };
    return [
      ...placesOf(FIRST, consumers, backwards).map((place) =>
        looked(`, ${direction}, ${place.name}`, scope, place.behind, `consumer${sign}?`),
      ),
      ...placesOf(heavy.first, heavy.count, backwards).map((place) =>
        looked(
          ` of a heavy consumer, ${direction}, ${place.name}`,
          { ...scope, consumer: heavy.consumer },
          place.behind,
          `consumer=? AND n${sign}?`,
        ),
      ),
    ];
  });
}
