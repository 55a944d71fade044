/** A store with a million consumers and three million entitlements, filled by SQL. */
import { analyse, fillConsumers, fillHeavy, idOfConsumer } from '../server/src/consumers/filling.fixtures.ts';
import { openStore } from '../server/src/store/open.ts';
import { withConnection } from '../testing/postgres.ts';
import type { WaypostOptions } from '../testing/waypost.ts';

/** One in this many is terminated. */
const TERMINATED = 10;
export const EACH = 3;
export const MANY = 100_000;

/** Paths of consumers by their number; every tenth is terminated. */
export const consumerPath = (i: number): string => `/consumers/${idOfConsumer(i)}`;
/** One more consumer, behind all others, that has very many entitlements. */
export const heavyConsumer = (million: number): number => million;
/** One that has as few as all others, but whose neighbours nobody touches. */
export const lightConsumer = 5;

export async function fillWithConsumers(
  place: WaypostOptions,
  million: number,
  note: (text: string) => void,
): Promise<void> {
  const location = { database: place.database, folder: place.data ?? '', reserveBytes: 0 };
  const store = await openStore(location, () => {});
  try {
    await fillConsumers(store, { consumers: million, each: EACH, terminated: TERMINATED }, note);
    const heavy = heavyConsumer(million);
    note(`${store.engine}: ${MANY.toLocaleString('en')} entitlements for one consumer`);
    await fillHeavy(store, heavy, MANY);
    // PostgreSQL does so by itself after a while; SQLite never does, and is measured as it is.
    if (store.engine === 'postgresql') await analyse(store);
  } finally {
    await store.close();
  }
  // What was filled in is written out now, and not while something is measured.
  if (place.database !== undefined) await withConnection(place.database, (query) => query('CHECKPOINT'));
}
