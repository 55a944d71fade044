/**
 * Whether the once-only links of a batch are taken for the next ones of their chains without looking at each. One that is
 * not makes the whole batch run twice, so whoever repeats links that are used would slow the posts of all others down.
 * Each time it goes wrong, more batches are looked at with care before the next is trusted; each time it goes well, fewer.
 */
export interface Trust {
  /** Asked once for each batch. */
  mayTry(): boolean;
  confirmed(): void;
  betrayed(): void;
}

/** Among batches that all go wrong, one in so many is run twice. */
const MOST_CAREFUL = 64;

export function createTrust(): Trust {
  /** Batches to be looked at with care after the next one that goes wrong. */
  let penalty = 1;
  let careful = 0;
  return {
    mayTry() {
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
  };
}
