/** The transaction manager put together: use cases, coordinator and upkeep over one log. */

import type { Sealer } from '../../ids.ts';
import type { Operator } from '../../operator/operator.ts';
import type { Store } from '../../store/store.ts';
import { createTransactions, type Transactions } from '../transactions.ts';
import { type Coordinator, createCoordinator } from './coordinator.ts';
import { createEndWatch } from './end-watch.ts';
import { createMembership, type Membership } from './membership.ts';
import type { TransactionPaths } from './messages.ts';
import { createNotices } from './notices.ts';
import type { Participants } from './participants.ts';
import { createUpkeep, type Upkeep } from './upkeep.ts';

export interface TransactionManager {
  readonly transactions: Transactions;
  readonly coordinator: Coordinator;
  readonly membership: Membership;
  readonly upkeep: Upkeep;
  /** Whoever waits for an end is answered soon. Call it before `stop`. */
  drain(): void;
  /** Breaks off what is being driven and hands it over to other nodes at once. */
  stop(): Promise<void>;
}

export interface TransactionManagerOptions {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly operator: Operator;
  readonly paths: TransactionPaths;
  readonly participants: Participants;
  readonly maxTimeout: number;
  readonly keptMilliseconds: number;
  readonly onError: (error: unknown) => void;
  /** Milliseconds by a clock that never goes back. */
  readonly monotonic?: () => number;
}

export function createTransactionManager(options: TransactionManagerOptions): TransactionManager {
  const { store, sealer, operator, paths, participants, maxTimeout, keptMilliseconds, onError } = options;
  const monotonic = options.monotonic ?? (() => performance.now());
  const membership = createMembership(store, monotonic);
  const upkeep = createUpkeep({ store, membership, coordinator: () => coordinator, keptMilliseconds });
  const coordinator: Coordinator = createCoordinator({
    store,
    participants,
    membership,
    operator,
    notices: createNotices(paths),
    schedule: upkeep.schedule,
    isScheduled: upkeep.isScheduled,
    monotonic,
    onError,
  });
  const endWatch = createEndWatch(store);
  const transactions = createTransactions({
    store,
    sealer,
    coordinator,
    membership,
    endWatch,
    maxTimeout,
  });
  return {
    transactions,
    coordinator,
    membership,
    upkeep,
    drain: () => endWatch.drain(),
    async stop() {
      await coordinator.stop();
      await membership.retire();
    },
  };
}
