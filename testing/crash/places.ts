/**
 * Names of destinations, a new one after so many messages: a service keeps a bounded number of received messages, and
 * this test has to be able to read each of its own.
 */
import type { Random } from './random.ts';

export type Places = {
  /** Where the next message goes. */
  next(): string;
  /** One of those lately in use. */
  recent(): string;
  all(): readonly string[];
};

const RECENT = 3;

export function createPlaces(prefix: string, most: number, random: Random): Places {
  const names: string[] = [];
  let left = 0;
  const next = (): string => {
    if (left === 0) {
      names.push(`${prefix}-${names.length + 1}`);
      left = most;
    }
    left--;
    return names.at(-1) as string;
  };
  return {
    next,
    recent: () => (names.length === 0 ? `${prefix}-1` : random.pick(names.slice(-RECENT))),
    all: () => names,
  };
}
