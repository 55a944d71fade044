/** Random numbers that a seed repeats, so that a failure can be looked at again. */
export type Random = {
  /** From 0 up to, not including, 1. */
  fraction(): number;
  /** A whole number from 0 up to, not including, the bound. */
  below(bound: number): number;
  pick<T>(items: readonly T[]): T;
};

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number): number => Math.floor(fraction() * bound);
  return {
    fraction,
    below,
    pick: <T>(items: readonly T[]): T => {
      if (items.length === 0) throw new RangeError('There is nothing to pick from.');
      return items[below(items.length)] as T;
    },
  };
}

/** The seed that was asked for by WAYPOST_CRASH_SEED, or any. */
export function chooseSeed(): number {
  const given = Number(process.env.WAYPOST_CRASH_SEED);
  return Number.isSafeInteger(given) && given > 0 ? given : 1 + Math.floor(Math.random() * 1_000_000_000);
}
