/** Bounded lists, page by page by key: stable while others insert and delete. Cursors are opaque. */
import { anyText, integer } from '../kinds.ts';
import { Problem } from '../problems.ts';
import type { Link } from './links.ts';
import { readQuery } from './parameters.ts';
import type { Request } from './request.ts';

export const pagingQuery = {
  per_page: {
    kind: integer(1, 1000),
    help: 'how many items a page has (default 100)',
    alsoCalled: ['limit', 'max', 'pagesize', 'count'],
  },
  cursor: { kind: anyText, help: 'where the page starts; taken from a next or prev link' },
} as const;

export interface Page {
  readonly limit: number;
  /** Items after this key in ascending order, or before it in descending order; undefined: from the start. */
  readonly key: string | undefined;
  readonly backwards: boolean;
}

export interface Slice<T> {
  readonly items: readonly T[];
  readonly hasNext: boolean;
  readonly hasPrevious: boolean;
}

export function readPage(request: Request): Page {
  const { per_page: limit = 100, cursor } = readQuery(request.query, pagingQuery);
  if (cursor === undefined) return { limit, key: undefined, backwards: false };
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, direction, key] = /^([ab])(.*)$/s.exec(text) ?? [];
  // A key that we did not write may be one that the store cannot read.
  const isOurs = Buffer.from(text).toString('base64url') === cursor && !text.includes('\0');
  if (direction === undefined || key === undefined || !isOurs) throw badCursor();
  return { limit, key, backwards: direction === 'b' };
}

export function badCursor(): Problem {
  return new Problem('bad-query', 'cursor is not one that this service gave out', {
    errors: [{ parameter: 'cursor', detail: 'must be taken from a next or prev link' }],
  });
}

/** Makes a slice of `limit + 1` rows that were read in the direction of the page. */
export function sliceOf<T>(page: Page, rows: readonly T[]): Slice<T> {
  const more = rows.length > page.limit;
  const items = rows.slice(0, page.limit);
  if (page.backwards) return { items: items.reverse(), hasNext: page.key !== undefined, hasPrevious: more };
  return { items, hasNext: more, hasPrevious: page.key !== undefined };
}

/** The links of a page: itself, the first page, and its neighbours where there are some. */
export function pageLinks<T>(request: Request, slice: Slice<T>, keyOf: (item: T) => string): Link[] {
  const [first, last] = [slice.items[0], slice.items.at(-1)];
  return neighbourLinks(request, {
    next: slice.hasNext && last !== undefined ? keyOf(last) : undefined,
    prev: slice.hasPrevious && first !== undefined ? keyOf(first) : undefined,
  });
}

/** The same for a page that knows the keys behind which its neighbours begin. */
export function neighbourLinks(
  request: Request,
  { next, prev }: { readonly next: string | undefined; readonly prev: string | undefined },
): Link[] {
  const href = (cursor: string | undefined): string => {
    const query = new URLSearchParams(request.query.toString());
    query.delete('cursor');
    if (cursor !== undefined) query.set('cursor', Buffer.from(cursor).toString('base64url'));
    return query.size === 0 ? request.path : `${request.path}?${query}`;
  };
  const links: Link[] = [
    { rel: 'self', href: request.query.size === 0 ? request.path : `${request.path}?${request.query}` },
    { rel: 'first', href: href(undefined) },
  ];
  if (next !== undefined) links.push({ rel: 'next', href: href(`a${next}`) });
  if (prev !== undefined) links.push({ rel: 'prev', href: href(`b${prev}`) });
  return links;
}
