/**
 * Where in a queue a claim may start looking, kept in memory as a hint.
 *
 * The entries of claimed messages stay in the index until the server's vacuum removes them, which any open snapshot
 * (a backup, a replica) forbids; a claim that starts at the head of the queue reads them all. So it starts at the last
 * claimed place. Whatever becomes available below lowers the floor again, and every floor is dropped once a second:
 * a wrong one makes a message late by a second, never lost.
 */
export interface Place {
  readonly rank: number;
  readonly ord: number;
}

export const HEAD: Place = { rank: 0, ord: 0 };

/** One claim's view of the floor. */
export interface Start {
  readonly place: Place;
  /** Everything before this place has been claimed. Has no effect when something came in below meanwhile. */
  raise(place: Place): void;
}

export interface Floors {
  start(destination: number): Start;
  lower(destination: number, place: Place): void;
  /** Without a destination: all of them. */
  forget(destination?: number): void;
  /** Notes messages posted here, to be announced: their announcement then need not drop the floor. */
  posted(destination: number, count: number, lowest: Place): void;
  /** The lowest place of posted messages, when the announced ones are known to be nothing else. */
  takePosted(destination: number, count: number): Place | undefined;
}

const LIFETIME = 1_000;

interface Floor {
  place: Place;
}

const isBelow = (a: Place, b: Place): boolean => a.rank < b.rank || (a.rank === b.rank && a.ord < b.ord);

export function createFloors(clock: () => number = () => performance.now()): Floors {
  let floors = new Map<number, Floor>();
  let posted = new Map<number, { count: number; lowest: Place }>();
  let cleared = clock();

  function lower(destination: number, place: Place): void {
    const floor = floors.get(destination);
    if (floor === undefined) return;
    // A new object: claims under way, which may have looked before, must not raise it.
    floors.set(destination, { place: isBelow(place, floor.place) ? place : floor.place });
  }

  return {
    start(destination) {
      const now = clock();
      if (now - cleared > LIFETIME) {
        floors = new Map();
        posted = new Map();
        cleared = now;
      }
      const floor = floors.get(destination) ?? { place: HEAD };
      floors.set(destination, floor);
      return {
        place: floor.place,
        raise(place) {
          if (floors.get(destination) === floor && isBelow(floor.place, place)) floor.place = place;
        },
      };
    },
    lower,
    forget(destination) {
      if (destination === undefined) floors = new Map();
      else floors.delete(destination);
    },
    posted(destination, count, lowest) {
      lower(destination, lowest);
      const known = posted.get(destination);
      if (known === undefined) posted.set(destination, { count, lowest });
      else {
        known.count += count;
        if (isBelow(lowest, known.lowest)) known.lowest = lowest;
      }
    },
    takePosted(destination, count) {
      const known = posted.get(destination);
      if (known === undefined || known.count < count) return undefined;
      known.count -= count;
      if (known.count === 0) posted.delete(destination);
      return known.lowest;
    },
  };
}
