/** The runners of this node, by subscriber and by destination. */
import type { Runner } from './runner.ts';

export interface Roster {
  readonly size: number;
  get(id: number): Runner | undefined;
  add(runner: Runner): void;
  /** False when it was not there (any more). */
  remove(runner: Runner): boolean;
  clear(): Runner[];
  all(): IterableIterator<Runner>;
  of(destination: number): ReadonlySet<Runner>;
  /** Runners of a queue that have nothing to do, at most that many, in turn. */
  idleOf(queue: number, most: number): Runner[];
  /** Destinations of a kind with runners that have nothing to do. */
  idleDestinations(kind: 'queue' | 'topic'): number[];
}

const NOBODY: ReadonlySet<Runner> = new Set();

const isIdle = ({ running, wakeAt }: Runner): boolean => !running && wakeAt === undefined;

export function createRoster(): Roster {
  const runners = new Map<number, Runner>();
  const places = new Map<number, Set<Runner>>();

  return {
    get size() {
      return runners.size;
    },
    get: (id) => runners.get(id),
    add(runner) {
      runners.set(runner.id, runner);
      const { destination } = runner.subscriber;
      const place = places.get(destination) ?? new Set();
      place.add(runner);
      places.set(destination, place);
    },
    remove(runner) {
      if (runners.get(runner.id) !== runner) return false;
      runners.delete(runner.id);
      const { destination } = runner.subscriber;
      const place = places.get(destination);
      place?.delete(runner);
      if (place?.size === 0) places.delete(destination);
      return true;
    },
    clear() {
      const all = [...runners.values()];
      runners.clear();
      places.clear();
      return all;
    },
    all: () => runners.values(),
    of: (destination) => places.get(destination) ?? NOBODY,
    idleOf(queue, most) {
      const place = places.get(queue);
      if (place === undefined) return [];
      const found: Runner[] = [];
      for (const runner of place) {
        if (found.length >= most) break;
        if (isIdle(runner)) found.push(runner);
      }
      // Whoever is chosen goes to the end of the row.
      for (const runner of found) {
        place.delete(runner);
        place.add(runner);
      }
      return found;
    },
    idleDestinations(kind) {
      const found: number[] = [];
      for (const [destination, place] of places) {
        for (const runner of place) {
          if (runner.subscriber.kind !== kind) break;
          if (!isIdle(runner)) continue;
          found.push(destination);
          break;
        }
      }
      return found;
    },
  };
}
