/** Fills a store with many consumers and entitlements by SQL alone: seconds instead of hours. */
import type { Store } from '../store/store.ts';

export interface Filling {
  readonly consumers: number;
  /** How many each consumer has. */
  readonly each: number;
  /** Every how manieth consumer is terminated; 0: none. */
  readonly terminated: number;
}

/** Rows of one transaction. */
const PIECE = 20_000;
/** One consumer in this many has a first entitlement that was terminated by itself, and so is one in this many of a heavy one's. */
const MARKED = 10;
/** The place of the first. Far above what the store hands out itself, so that nothing made later meets them. */
export const FIRST = 1_000_000_000;

export const idOfConsumer = (i: number): string => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

/** The numbers from $1 to $2, and a number as twelve digits. */
function fragmentsOf({ engine }: Store): { numbers: string; padded(expression: string): string } {
  if (engine === 'postgresql') {
    return {
      numbers: 'WITH numbers (i) AS (SELECT generate_series($1::int, $2::int))',
      padded: (expression) => `lpad((${expression})::text, 12, '0')`,
    };
  }
  // A parameter comes as a floating number, which shows as soon as it is made text.
  const first = 'SELECT CAST($1 AS INTEGER)';
  return {
    numbers: `WITH RECURSIVE numbers (i) AS (${first} UNION ALL SELECT i + 1 FROM numbers WHERE i < $2)`,
    padded: (expression) => `printf('%012d', ${expression})`,
  };
}

export async function fillConsumers(
  store: Store,
  { consumers, each, terminated }: Filling,
  note: (text: string) => void = () => {},
): Promise<void> {
  const { numbers, padded } = fragmentsOf(store);
  const isMarked = `i % ${MARKED} = 3`;
  const isOver = terminated === 0 ? '1 = 0' : `i % ${terminated} = 0`;
  for (let first = 0; first < consumers; first += PIECE) {
    const last = Math.min(first + PIECE, consumers) - 1;
    await store.transaction(async (tx) => {
      await tx.run(
        `${numbers}
         INSERT INTO consumer (n, id, name, state, version, epoch, entitlements, created, updated, terminated)
         SELECT ${FIRST} + i, '00000000-0000-4000-8000-' || ${padded('i')}, 'consumer ' || i,
           CASE WHEN ${isOver} THEN 1 ELSE 0 END, 1, 0, CASE WHEN ${isMarked} THEN ${each - 1} ELSE ${each} END, 1, 1, CASE WHEN ${isOver} THEN 1 ELSE NULL END
         FROM numbers`,
        [first, last],
      );
    });
    for (let k = 0; k < each; k++) {
      const ended = (yes: string, no: string): string =>
        k === 0 ? `CASE WHEN ${isMarked} THEN ${yes} ELSE ${no} END` : no;
      await store.transaction((tx) =>
        tx.run(
          `${numbers}
           INSERT INTO entitlement (n, id, consumer, product, quantity, starts, ends, marked, version, created, updated,
             terminated)
           SELECT ${FIRST} + i * ${each} + ${k}, '00000000-0000-4000-9000-' || ${padded(`i * ${each} + ${k}`)},
             ${FIRST} + i, 'product ' || ((i + ${k}) % 10), 1, 1, NULL,
             ${ended('1', '0')}, 1, 1, 1, ${ended('1', 'NULL')}
           FROM numbers`,
          [first, last],
        ),
      );
    }
    note(
      `filling (${store.engine}): ${(last + 1).toLocaleString('en')} of ${consumers.toLocaleString('en')} consumers`,
    );
  }
}

/** The place of the first entitlement of a heavy consumer. */
export const firstOfHeavy = (n: number): number => 2 * FIRST + n * 1000;

/** One more consumer, the one with this number, with very many entitlements; each is for a product of its own. */
export async function fillHeavy(store: Store, i: number, count: number): Promise<void> {
  const { numbers, padded } = fragmentsOf(store);
  const n = FIRST + i;
  const start = firstOfHeavy(n);
  const ended = (yes: string, no: string): string => `CASE WHEN i % ${MARKED} = 3 THEN ${yes} ELSE ${no} END`;
  const standing = count - Math.floor((count + MARKED - 4) / MARKED);
  await store.transaction((tx) =>
    tx.run(
      `INSERT INTO consumer (n, id, name, state, version, epoch, entitlements, created, updated)
       VALUES ($1, $2, 'heavy', 0, 1, 0, $3, 1, 1)`,
      [n, idOfConsumer(i), standing],
    ),
  );
  for (let first = 0; first < count; first += PIECE) {
    const last = Math.min(first + PIECE, count) - 1;
    await store.transaction((tx) =>
      tx.run(
        `${numbers}
         INSERT INTO entitlement (n, id, consumer, product, quantity, starts, ends, marked, version, created, updated,
           terminated)
         SELECT ${start} + i, '00000000-0000-4000-a000-' || ${padded('i')}, ${n}, 'product ' || i, 1, 1, NULL,
           ${ended('1', '0')}, 1, 1, 1, ${ended('1', 'NULL')}
         FROM numbers`,
        [first, last],
      ),
    );
  }
}

/** Lets the engine look at what is there, as it does by itself from time to time. */
export async function analyse(store: Store): Promise<void> {
  await store.transaction((tx) => tx.run('ANALYZE'));
}
