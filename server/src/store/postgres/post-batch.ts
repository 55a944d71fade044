/** Makes the parameters of a statement of the postings that go out with it. */
import { isVolatile, type Posting, type SqlValue } from '../store.ts';
import { type Links, type ParameterName, parametersOf } from './post-parameters.ts';

/** What a batch asks of its statement. Most ask for neither links nor partitions, and each costs the server a good deal. */
export interface Needs {
  readonly links: Links;
  /** Some of its messages are volatile: the server chooses a partition for each row. */
  readonly partitions: boolean;
}

export interface Batch extends Needs {
  readonly values: readonly SqlValue[];
}

type List<T> = readonly (T | null)[];

/** Whether all values are the same. Loops here and below: a batch is made for every few posts, and callbacks take twice as long. */
function isUniform<T>(list: List<T>): boolean {
  for (let index = 1; index < list.length; index++) if (list[index] !== list[0]) return false;
  return true;
}

/** A list, and what stands for every value of it; one of the two is null. */
const orEvery = <T>(list: List<T>): readonly [List<T> | null, T | null] =>
  isUniform(list) ? [null, list[0] ?? null] : [list, null];

/** A list of nothing but nulls goes out as null, which stands for as many nulls as the other lists are long. */
const orNothing = <T>(list: List<T>): List<T> | null => (list[0] === null && isUniform(list) ? null : list);

/** The first link of a chain finds no row that it could change. All others are taken for the next one of theirs. */
export function linksOf(postings: readonly Posting[]): Links {
  let links: Links = 'none';
  for (const { once } of postings) {
    if (once?.n === 1) return 'any';
    if (once !== undefined) links = 'next';
  }
  return links;
}

export function batchOf(postings: readonly Posting[], links: Links = linksOf(postings)): Batch {
  const destinations = new Set<number>();
  const dests: number[] = [];
  const contentTypes: (string | null)[] = [];
  const allHeaders: string[] = [];
  const ranks: number[] = [];
  const expires: (number | null)[] = [];
  const delayed: (number | null)[] = [];
  const posted: number[] = [];
  const id: number[] = [];
  const start: number[] = [];
  const size: number[] = [];
  const bodies: Buffer[] = [];
  let next = 1;
  let partitions = false;
  for (const posting of postings) {
    destinations.add(posting.destination);
    for (const message of posting.messages) {
      dests.push(posting.destination);
      contentTypes.push(message.contentType);
      allHeaders.push(message.headers);
      ranks.push(message.rank);
      expires.push(message.expires);
      delayed.push(message.delayedUntil);
      posted.push(posting.posted);
      id.push(message.id);
      start.push(next);
      size.push(message.body.length);
      bodies.push(message.body);
      next += message.body.length;
      partitions ||= isVolatile(message.id);
    }
  }
  const [dest, everyDest] = orEvery(dests);
  const [contentType, everyContentType] = orEvery(contentTypes);
  const [headers, everyHeaders] = orEvery(allHeaders);
  const [rank, everyRank] = orEvery(ranks);
  const values: Values = {
    destinations: [...destinations],
    dest,
    everyDest,
    contentType,
    everyContentType,
    headers,
    everyHeaders,
    rank,
    everyRank,
    expires: orNothing(expires),
    delayed: orNothing(delayed),
    posted,
    id,
    start,
    size,
    ...LINK_VALUES[links](postings),
    bodies: Buffer.concat(bodies, next - 1),
  };
  return { values: parametersOf(links).map((name) => values[name] as SqlValue), links, partitions };
}

type Values = { readonly [name in ParameterName]?: unknown };

const LINK_VALUES: Readonly<Record<Links, (postings: readonly Posting[]) => Values>> = {
  none: () => ({}),
  next: nextValues,
  any: anyValues,
};

/** The links in the order of their chains, and the latest of the times until which these are to be remembered. */
function nextValues(postings: readonly Posting[]): Values {
  const chain: number[] = [];
  const link: number[] = [];
  let latest = 0;
  for (const { once } of postings) {
    if (once === undefined) continue;
    // Moved to its place by hand: a batch is small, and sort() calls back for each comparison.
    let at = chain.length;
    for (; at > 0 && (chain[at - 1] as number) > once.chain; at--) {
      chain[at] = chain[at - 1] as number;
      link[at] = link[at - 1] as number;
    }
    chain[at] = once.chain;
    link[at] = once.n;
    if (once.expires > latest) latest = once.expires;
  }
  return { chain, link, latest };
}

/** For each message its link, with the time until which the chain is to be remembered. */
function anyValues(postings: readonly Posting[]): Values {
  const chain: (number | null)[] = [];
  const link: (number | null)[] = [];
  const until: (number | null)[] = [];
  let chainCount = 0;
  for (const { once, messages } of postings) {
    for (const _ of messages) {
      chain.push(once?.chain ?? null);
      link.push(once?.n ?? null);
      until.push(once?.expires ?? null);
    }
    if (once !== undefined && messages.length > 0) chainCount++;
  }
  return { chain, link, chainCount, until };
}
