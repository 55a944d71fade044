/** The service under test: the use cases of messaging over a real store, in this process, with a clock of the test's own. */

import { createPruner } from '../../src/duties/prune.ts';
import { sweepDoomed } from '../../src/duties/sweep.ts';
import { createSealer } from '../../src/ids.ts';
import { createMessaging, type Messaging } from '../../src/messaging/messaging.ts';
import { NO_TRANSACTIONS } from '../../src/messaging/usecases/enlisting.ts';
import type { Store } from '../../src/store/store.ts';

export const REMEMBER_IDS = 24 * 3_600_000;
export const LINK_LIFETIME = 7 * 24 * 3_600_000;

export interface Clock {
  time: number;
}

export interface Service {
  readonly store: Store;
  readonly messaging: Messaging;
  readonly clock: Clock;
  /** Whether volatile messages outlive a clean restart: they lie in the process on SQLite, in the server on PostgreSQL. */
  readonly keepsVolatile: boolean;
  redeliver(): Promise<void>;
  prune(): Promise<void>;
  /** Removes what is left of deleted destinations. */
  sweep(): Promise<void>;
  restart(): Promise<void>;
  close(): Promise<void>;
}

export async function openService(open: (now: () => number) => Promise<Store>): Promise<Service> {
  const clock: Clock = { time: 1_800_000_000_000 };
  let store = await open(() => clock.time);
  let parts = compose(store);

  function compose(store: Store) {
    const options = {
      autoCreate: true,
      maxWaiting: 10,
      rememberIds: REMEMBER_IDS,
      onceLifetime: LINK_LIFETIME,
      enlister: NO_TRANSACTIONS,
    };
    const sealer = createSealer(store.secret);
    return { messaging: createMessaging(store, sealer, options), prune: createPruner(store, REMEMBER_IDS) };
  }

  return {
    clock,
    get store() {
      return store;
    },
    get messaging() {
      return parts.messaging;
    },
    get keepsVolatile() {
      return store.engine === 'postgresql';
    },
    async redeliver() {
      while ((await parts.messaging.redelivery.step()).more);
    },
    async prune() {
      while ((await parts.prune()) === 0);
    },
    async sweep() {
      while ((await sweepDoomed(store)) === 0);
    },
    async restart() {
      await store.close();
      store = await open(() => clock.time);
      parts = compose(store);
    },
    close: () => store.close(),
  };
}
