/** The database's clock, read without asking: the local monotonic clock plus a measured offset. */
export interface SharedClock {
  now(): number;
  measure(): Promise<void>;
}

const SAMPLES = 3;
/** A busy machine may be slow to answer for some samples; half of the shortest round trip is what nodes can differ by. */
const MOST_SAMPLES = 10;
const SHORT = 1;

/**
 * `ask` gives the database's time in milliseconds. Its answer was true somewhere between question and answer, so the
 * sample with the shortest round trip is the best one.
 */
export function createClock(
  ask: () => Promise<number>,
  monotonic: () => number = () => performance.now(),
): SharedClock {
  let offset = Date.now() - monotonic();
  return {
    now: () => Math.floor(monotonic() + offset),
    async measure() {
      let shortest = Number.POSITIVE_INFINITY;
      let best = offset;
      for (let count = 0; count < SAMPLES || (shortest > SHORT && count < MOST_SAMPLES); count++) {
        const asked = monotonic();
        const time = await ask();
        const answered = monotonic();
        if (answered - asked >= shortest) continue;
        shortest = answered - asked;
        best = time - (asked + answered) / 2;
      }
      offset = best;
    },
  };
}
