/** The database's clock, read without asking: the local monotonic clock plus a measured offset. */
export interface SharedClock {
  now(): number;
  measure(): Promise<void>;
}

const SAMPLES = 3;
/** A busy machine may be slow to answer for some samples; half of the shortest round trip is what nodes can differ by. */
const MOST_SAMPLES = 10;
const SHORT = 1;

/** By how much two good clocks may drift apart, in milliseconds for each. */
const DRIFT = 0.0002;

/**
 * `ask` gives the database's time in milliseconds. Its answer was true somewhere between question and answer, so the
 * sample with the shortest round trip is the best one, and it may be wrong by half of that. On a busy machine what was
 * measured before is often better: it is kept for as long as it may be wrong by less, and is not refuted.
 */
export function createClock(
  ask: () => Promise<number>,
  monotonic: () => number = () => performance.now(),
): SharedClock {
  let offset = Date.now() - monotonic();
  let doubt = Number.POSITIVE_INFINITY;
  let measured = 0;

  async function sample(): Promise<{ found: number; doubt: number }> {
    let best = { found: offset, doubt: Number.POSITIVE_INFINITY };
    for (let count = 0; count < SAMPLES || (best.doubt > SHORT / 2 && count < MOST_SAMPLES); count++) {
      const asked = monotonic();
      const time = await ask();
      const answered = monotonic();
      const half = (answered - asked) / 2;
      if (half < best.doubt) best = { found: time - asked - half, doubt: half };
    }
    return best;
  }

  return {
    now: () => Math.floor(monotonic() + offset),
    async measure() {
      const now = await sample();
      const kept = doubt + DRIFT * (monotonic() - measured);
      const isRefuted = Math.abs(now.found - offset) > kept + now.doubt;
      if (!isRefuted && now.doubt > kept) return;
      offset = now.found;
      doubt = now.doubt;
      measured = monotonic();
    },
  };
}
