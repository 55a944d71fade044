/** Duties that only one node runs at a time: whoever holds the duty's row, until its time runs out. */
import { randomUUID } from 'node:crypto';
import type { Store } from '../store/store.ts';
import type { Duty } from './duties.ts';

const HELD_FOR = 30_000;
/** How often a node that does not hold the duty asks whether it is free. */
const ASK_AGAIN = 5000;

export function createOwnership(store: Store): (name: string, duty: Duty) => Duty {
  const node = randomUUID();

  async function hold(name: string): Promise<number> {
    const now = store.now();
    const row = await store.transaction((tx) =>
      tx.get(
        `INSERT INTO duty (name, owner, until) VALUES ($1, $2, $3)
         ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
         WHERE duty.owner = excluded.owner OR duty.until <= $4 RETURNING owner`,
        [name, node, now + HELD_FOR, now],
      ),
    );
    return row === undefined ? 0 : now + HELD_FOR;
  }

  return (name, duty) => {
    let heldUntil = 0;
    return async () => {
      // Renewed when half of the time is over, so that an idle service hardly writes.
      if (heldUntil - store.now() < HELD_FOR / 2) heldUntil = await hold(name);
      return heldUntil === 0 ? ASK_AGAIN : duty();
    };
  };
}
