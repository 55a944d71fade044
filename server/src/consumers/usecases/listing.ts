/**
 * Listings of entitlements. Their order is by consumer, then by age, because what hides an entitlement is its consumer: a
 * walk over those in force goes from one active consumer to the next and never meets the others.
 *
 * A state also depends on the time, which no index knows. What an index cannot leave out is left out here, and a page
 * ends after a bounded number of looks: it may be short, or even empty, and still have a next one.
 */
import type { Page } from '../../http/paging.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { Consumer } from '../consumer.ts';
import { compareKeys, type Entitlement, type EntitlementState, type Key, keyOf, stateAt } from '../entitlement.ts';
import { findConsumer } from '../queries/consumers.ts';
import { entitledConsumers, entitlementsOf, rangeOfEntitlements, type Scope } from '../queries/entitlements.ts';

export interface EntitlementFilter {
  /** The id of a consumer. */
  readonly consumer?: string;
  readonly product?: string;
  /** Undefined: all but terminated ones. */
  readonly status?: EntitlementState | 'all';
  readonly at?: number;
}

export interface EntitlementPage {
  readonly items: readonly Entitlement[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
  /** How far the walk came, where it ended for want of time rather than of items. */
  readonly reached?: Key;
  readonly now: number;
}

export interface Listing {
  list(
    filter: EntitlementFilter,
    page: Pick<Page, 'limit' | 'backwards'>,
    from: Key | undefined,
  ): Promise<EntitlementPage>;
}

/** What a walk gives: the next ones in its direction. When it is not over, `rows` is not empty. */
interface Piece {
  readonly rows: readonly Entitlement[];
  readonly over: boolean;
}
type Walk = (tx: Tx, from: Key, limit: number) => Promise<Piece>;

const SMALLEST_PIECE = 100;
/** A page looks at this many entitlements at most, or at as many as it may show. */
export const MOST_LOOKS = 2000;

export const START: Key = { consumer: -1, n: -1 };
export const END: Key = { consumer: Number.MAX_SAFE_INTEGER - 1, n: Number.MAX_SAFE_INTEGER - 1 };

export function createListing(store: Store): Listing {
  return {
    list: (filter, { limit, backwards }, key) =>
      store.snapshot(async (tx) => {
        const now = store.now();
        const walk = await chooseWalk(tx, filter, backwards, now);
        const { items, more, reached } = await fill(tx, walk, key ?? (backwards ? END : START), limit, (entitlement) =>
          isWanted(filter, stateAt(entitlement, now, filter.at)),
        );
        const started = key !== undefined;
        const at = reached === undefined ? {} : { reached };
        return backwards
          ? { items: items.reverse(), hasNext: started, hasPrevious: more, ...at, now }
          : { items, hasNext: more, hasPrevious: started, ...at, now };
      }),
  };
}

function isWanted({ status }: EntitlementFilter, state: EntitlementState): boolean {
  if (status === undefined) return state !== 'terminated';
  return status === 'all' || status === state;
}

async function fill(
  tx: Tx,
  walk: Walk,
  start: Key,
  limit: number,
  wanted: (entitlement: Entitlement) => boolean,
): Promise<{ items: Entitlement[]; more: boolean; reached?: Key }> {
  const items: Entitlement[] = [];
  let from = start;
  for (let looks = 0; looks < Math.max(MOST_LOOKS, limit + 1); ) {
    const { rows, over } = await walk(tx, from, Math.max(limit + 1 - items.length, SMALLEST_PIECE));
    for (const row of rows) {
      if (!wanted(row)) continue;
      // One more than fits: there is a next page, and it begins behind the last one that fits.
      if (items.length === limit) return { items, more: true };
      items.push(row);
    }
    if (over) return { items, more: false };
    looks += rows.length;
    from = keyOf(rows.at(-1) as Entitlement);
  }
  return { items, more: true, reached: from };
}

/** The walk that meets the fewest of those that are not wanted. */
async function chooseWalk(tx: Tx, filter: EntitlementFilter, backwards: boolean, now: number): Promise<Walk> {
  const { consumer: id, product, status, at = now } = filter;
  const kind = kindOf(status, at < now);
  const nothing: Walk = async () => ({ rows: [], over: true });
  if (id !== undefined) {
    const consumer = await findConsumer(tx, id);
    return consumer === undefined ? nothing : ofConsumer(consumer, product, kind, backwards);
  }
  if (product !== undefined) return inRange({ product }, backwards);
  if (kind === 'any') return standingAndEnded({}, backwards);
  const unmarked = ofConsumers(kind === 'terminated', backwards);
  return kind === 'standing' ? unmarked : merged(unmarked, inRange({ marked: true }, backwards), backwards);
}

type Kind = 'standing' | 'terminated' | 'any';

/** Of another moment only the past is uncertain: what was terminated since was not terminated then. */
function kindOf(status: EntitlementFilter['status'], isPast: boolean): Kind {
  if (isPast || status === 'all') return 'any';
  return status === 'terminated' ? 'terminated' : 'standing';
}

function ofConsumer({ n, terminated }: Consumer, product: string | undefined, kind: Kind, backwards: boolean): Walk {
  if (kind === 'standing' && terminated !== undefined) return async () => ({ rows: [], over: true });
  const consumer = n;
  if (product !== undefined) return inRange({ consumer, product }, backwards);
  if (kind === 'any' || terminated !== undefined) return standingAndEnded({ consumer }, backwards);
  return inRange({ consumer, marked: kind === 'terminated' }, backwards);
}

function standingAndEnded(scope: { consumer?: number }, backwards: boolean): Walk {
  return merged(
    inRange({ ...scope, marked: false }, backwards),
    inRange({ ...scope, marked: true }, backwards),
    backwards,
  );
}

/** Straight along an index: of one consumer, or what is left of the one at which the walk stands and then the others. */
function inRange(scope: Scope, backwards: boolean): Walk {
  return async (tx, { consumer: present, n }, limit) => {
    const one = { ...scope, consumer: scope.consumer ?? present, behind: n, backwards, limit };
    const isAtStart = scope.consumer === undefined && (present === START.consumer || present === END.consumer);
    const rows = isAtStart ? [] : await rangeOfEntitlements(tx, one);
    const missing = limit - rows.length;
    if (scope.consumer === undefined && missing > 0) {
      rows.push(...(await rangeOfEntitlements(tx, { ...scope, behind: present, backwards, limit: missing })));
    }
    return { rows, over: rows.length < limit };
  };
}

/**
 * From consumer to consumer, all active or all terminated: those of their entitlements that are not marked. The counts
 * tell beforehand how many consumers a piece takes, so that no more is read than is given.
 */
function ofConsumers(terminated: boolean, backwards: boolean): Walk {
  const sign = backwards ? -1 : 1;
  const walk: Walk = async (tx, from, limit) => {
    // The consumer at which the last piece ended may have more, unless its state has changed since.
    const [present] = await entitledConsumers(tx, { terminated, from: from.consumer - sign, backwards, limit: 1 });
    const rows =
      present?.n === from.consumer
        ? await rangeOfEntitlements(tx, { consumer: present.n, marked: false, behind: from.n, backwards, limit })
        : [];
    if (rows.length === limit) return { rows, over: false };
    const missing = limit - rows.length;
    const next = await entitledConsumers(tx, { terminated, from: from.consumer, backwards, limit: missing });
    const whole: number[] = [];
    let count = 0;
    let last: number | undefined;
    for (const { n, entitlements } of next) {
      if (count + entitlements >= missing) {
        last = n;
        break;
      }
      whole.push(n);
      count += entitlements;
    }
    const found = whole.length === 0 ? [] : await entitlementsOf(tx, whole);
    rows.push(...found.sort((a, b) => sign * compareKeys(keyOf(a), keyOf(b))));
    if (last === undefined) return { rows, over: true };
    const rest = { consumer: last, marked: false, behind: (backwards ? END : START).n, backwards };
    rows.push(...(await rangeOfEntitlements(tx, { ...rest, limit: missing - count })));
    // Someone may have terminated all of these in between; the walk then goes on behind them.
    if (rows.length === 0) return walk(tx, { consumer: last, n: (backwards ? START : END).n }, limit);
    return { rows, over: false };
  };
  return walk;
}

/** Two walks as one. Behind the end of a piece of either, nothing is known of what it gives next. */
function merged(one: Walk, other: Walk, backwards: boolean): Walk {
  const sign = backwards ? -1 : 1;
  return async (tx, from, limit) => {
    const pieces = [await one(tx, from, limit), await other(tx, from, limit)];
    const ends = pieces.flatMap(({ rows, over }) => (over ? [] : [keyOf(rows.at(-1) as Entitlement)]));
    const known = pieces
      .flatMap(({ rows }) => rows)
      .filter((row) => ends.every((end) => sign * compareKeys(keyOf(row), end) <= 0))
      .sort((a, b) => sign * compareKeys(keyOf(a), keyOf(b)));
    return { rows: known.slice(0, limit), over: ends.length === 0 && known.length <= limit };
  };
}
