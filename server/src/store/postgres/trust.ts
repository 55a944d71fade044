/**
 * Whether the once-only links of a batch are taken for the next ones of their chains without looking at each. One that is
 * not makes the whole batch run twice, so whoever repeats links that are used would slow the posts of all others down.
 *
 * A chain whose last link was refused is looked at with care until one is used. For those who bring ever other chains: each
 * time it goes wrong, more batches are looked at with care before the next is trusted; each time it goes well, fewer.
 */
import type { Posting, PostOutcome } from '../store.ts';

type Linked = Pick<Posting, 'once'>;

export interface Trust {
  /** Asked once for each batch. */
  mayTry(postings: readonly Linked[]): boolean;
  confirmed(): void;
  betrayed(): void;
  /** What came out when each link of a batch was looked at. */
  learn(postings: readonly Linked[], outcomes: readonly PostOutcome[]): void;
}

/** Among batches that all go wrong, one in so many is run twice. */
const MOST_CAREFUL = 64;
/** Clients choose which links they repeat, so it is bounded; the one that was refused longest ago is forgotten. */
const MOST_DOUBTFUL = 1024;

export function createTrust(): Trust {
  /** Batches to be looked at with care after the next one that goes wrong. */
  let penalty = 1;
  let careful = 0;
  const doubtful = new Set<number>();
  const isDoubtful = ({ once }: Linked): boolean => once !== undefined && doubtful.has(once.chain);

  function doubt(chain: number): void {
    doubtful.delete(chain);
    doubtful.add(chain);
    if (doubtful.size <= MOST_DOUBTFUL) return;
    for (const oldest of doubtful) {
      doubtful.delete(oldest);
      return;
    }
  }

  return {
    mayTry(postings) {
      if (doubtful.size > 0 && postings.some(isDoubtful)) return false;
      if (careful === 0) return true;
      careful--;
      return false;
    },
    confirmed() {
      if (penalty > 1) penalty--;
    },
    betrayed() {
      careful = penalty;
      penalty = Math.min(2 * penalty, MOST_CAREFUL);
    },
    learn(postings, outcomes) {
      for (const [index, { once }] of postings.entries()) {
        if (once === undefined) continue;
        if (outcomes[index] === 'stored') doubtful.delete(once.chain);
        else doubt(once.chain);
      }
    },
  };
}
