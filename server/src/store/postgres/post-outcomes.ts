/** What the answer of a statement for posts means to each of its postings. */
import type { Posting, PostOutcome, Row } from '../store.ts';
import type { Place } from './floors.ts';
import type { Links } from './post-parameters.ts';

/** A destination that is there; a batch of `next` links has one row. What is said of the whole batch is the same in all rows. */
interface PostedRow {
  readonly there: number;
  /** The lowest place in the order of arrival that was given. */
  readonly ord: number | null;
  /** The chains of the links that were used, where these are not all. */
  readonly used: string | null;
}

export function postOutcomes(postings: readonly Posting[], links: Links, rows: readonly Row[]): PostOutcome[] {
  if (links === 'next') return postings.map(() => 'stored');
  const posted = rows as unknown as PostedRow[];
  const destinations = new Set(posted.map(({ there }) => there));
  const chains = posted[0]?.used ?? null;
  const used = chains === null ? undefined : new Set(chains.split(',').map(Number));
  return postings.map(({ destination, once }) => {
    if (!destinations.has(destination)) return 'no-destination';
    return once === undefined || used === undefined || used.has(once.chain) ? 'stored' : 'once-used';
  });
}

/** How many messages of a batch are ready in each queue, and a place that none of them is below. */
export function readyByQueue(
  postings: readonly Posting[],
  outcomes: readonly PostOutcome[],
  rows: readonly Row[],
): Map<number, { count: number; lowest: Place }> {
  const ready = new Map<number, { count: number; lowest: Place }>();
  const ord = (rows as unknown as PostedRow[])[0]?.ord ?? null;
  if (ord === null) return ready;
  for (const [index, { destination, messages }] of postings.entries()) {
    if (outcomes[index] !== 'stored') continue;
    for (const { delayedUntil, rank } of messages) {
      if (delayedUntil !== null) continue;
      const known = ready.get(destination);
      if (known === undefined) ready.set(destination, { count: 1, lowest: { rank, ord } });
      else {
        known.count++;
        if (rank < known.lowest.rank) known.lowest = { rank, ord };
      }
    }
  }
  return ready;
}
