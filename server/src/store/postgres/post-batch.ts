/** Makes the parameters of a statement of the postings that go out with it. */
import { isVolatile, type NewMessage, type Posting, type SqlValue } from '../store.ts';
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

/** A list of nothing but nulls goes out as null, which stands for as many nulls as the other lists are long. */
const orNothing = <T>(list: List<T>): List<T> | null => (list.some((value) => value !== null) ? list : null);

/** A list, and what stands for every value of it; one of the two is null. */
function orEvery<T>(list: List<T>): readonly [List<T> | null, T | null] {
  const [first = null] = list;
  return list.every((value) => value === first) ? [null, first] : [list, null];
}

/** `needsCare` tells of links that were found not to follow the last used one of their chain. */
export function batchOf(postings: readonly Posting[], needsCare: (posting: Posting) => boolean = () => false): Batch {
  const destinations: number[] = [];
  const posted: number[] = [];
  const messages: NewMessage[] = [];
  const bodies: Buffer[] = [];
  const start: number[] = [];
  let next = 1;
  let links: Links = 'none';
  let partitions = false;
  for (const posting of postings) {
    for (const message of posting.messages) {
      destinations.push(posting.destination);
      posted.push(posting.posted);
      messages.push(message);
      bodies.push(message.body);
      start.push(next);
      next += message.body.length;
      partitions ||= isVolatile(message.id);
    }
    // The first link of a chain finds no row that it could change.
    if (posting.once !== undefined && links !== 'any')
      links = posting.once.n === 1 || needsCare(posting) ? 'any' : 'next';
  }
  const [dest, everyDest] = orEvery(destinations);
  const [contentType, everyContentType] = orEvery(messages.map((message) => message.contentType));
  const [headers, everyHeaders] = orEvery(messages.map((message) => message.headers));
  const [rank, everyRank] = orEvery(messages.map((message) => message.rank));
  const values: { readonly [name in ParameterName]?: unknown } = {
    destinations: dest === null ? postings.slice(0, 1).map(({ destination }) => destination) : [...new Set(dest)],
    dest,
    everyDest,
    contentType,
    everyContentType,
    headers,
    everyHeaders,
    rank,
    everyRank,
    expires: orNothing(messages.map((message) => message.expires)),
    delayed: orNothing(messages.map((message) => message.delayedUntil)),
    posted,
    id: messages.map(({ id }) => id),
    start,
    size: bodies.map(({ length }) => length),
    ...(links === 'none' ? {} : linkValues(postings, links)),
    bodies: Buffer.concat(bodies, next - 1),
  };
  return { values: parametersOf(links).map((name) => values[name] as SqlValue), links, partitions };
}

/** The links, with the times until which their chains are to be remembered: one for each, and the latest of all. */
function linkValues(postings: readonly Posting[], links: Links): { readonly [name in ParameterName]?: unknown } {
  const chain: (number | null)[] = [];
  const link: (number | null)[] = [];
  const until: (number | null)[] = [];
  let chainCount = 0;
  let latest = 0;
  for (const { once, messages } of postings) {
    for (const _ of messages) {
      chain.push(once?.chain ?? null);
      link.push(once?.n ?? null);
      if (links === 'any') until.push(once?.expires ?? null);
    }
    if (once === undefined || messages.length === 0) continue;
    chainCount++;
    if (once.expires > latest) latest = once.expires;
  }
  return { chain, link, chainCount, latest, until };
}
