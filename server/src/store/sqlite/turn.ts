/**
 * Whose turn it is to use the database. The threads of this process that use it have a connection each; they take turns,
 * first come, first served, so that none ever finds it locked and none is passed over. A turn that nobody else wants is
 * taken and given back without waiting for anything.
 */
export interface Turn {
  /** Waits for the turn: by a promise, by standing still, or not at all where it is free. */
  take(): Promise<void> | undefined;
  give(): void;
}

/** Two numbers, as in a shop: the next to be drawn, and the one that is served. */
const NEXT = 0;
const SERVED = 1;
/** How many turns the thread that speaks with clients has had. */
const DISTURBED = 2;

export const createTurnMemory = (): SharedArrayBuffer => new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT);

/** For the thread that speaks with clients: it goes on with other things while it waits. It may change anything. */
export function createTurn(memory: SharedArrayBuffer): Turn {
  const numbers = new Int32Array(memory);

  async function wait(number: number, served: number): Promise<void> {
    for (let seen = served; seen !== number; seen = Atomics.load(numbers, SERVED)) {
      await Atomics.waitAsync(numbers, SERVED, seen).value;
    }
  }

  return {
    take() {
      const number = Atomics.add(numbers, NEXT, 1);
      const served = Atomics.load(numbers, SERVED);
      return served === number ? undefined : wait(number, served);
    },
    give() {
      // While it still is this thread's turn: whoever is next has to see it.
      Atomics.add(numbers, DISTURBED, 1);
      give(numbers);
    },
  };
}

export interface BlockingTurn extends Turn {
  /**
   * Whether the thread that speaks with clients had no turn between this one and the one before. One that copies the WAL
   * may have had some: that changes nothing of what is stored.
   */
  isUndisturbed(): boolean;
}

/** For a thread that has nothing else to do: it stands still while it waits. */
export function createBlockingTurn(memory: SharedArrayBuffer): BlockingTurn {
  const numbers = new Int32Array(memory);
  let disturbances: number | undefined;
  let undisturbed = false;
  return {
    take() {
      const number = Atomics.add(numbers, NEXT, 1);
      for (let seen = Atomics.load(numbers, SERVED); seen !== number; seen = Atomics.load(numbers, SERVED)) {
        Atomics.wait(numbers, SERVED, seen);
      }
      const seen = Atomics.load(numbers, DISTURBED);
      undisturbed = seen === disturbances;
      disturbances = seen;
      return undefined;
    },
    give: () => give(numbers),
    isUndisturbed: () => undisturbed,
  };
}

function give(numbers: Int32Array): void {
  Atomics.add(numbers, SERVED, 1);
  Atomics.notify(numbers, SERVED);
}
