/** The transaction manager put together: use cases, coordinator and upkeep over one log. */

import type { Sealer } from '../../ids.ts';
import type { Membership } from '../../nodes/membership.ts';
import type { Operator } from '../../operator/operator.ts';
import type { Store } from '../../store/store.ts';
import { createTransactions, type Transactions } from '../transactions.ts';
import { type Coordinator, createCoordinator } from './coordinator.ts';
import { createEndWatch } from './end-watch.ts';
import type { TransactionPaths } from './messages.ts';
import { createNotices } from './notices.ts';
import type { Participants } from './participants.ts';
import { createUpkeep, type Upkeep } from './upkeep.ts';

export interface TransactionManager {
  readonly transactions: Transactions;
  readonly coordinator: Coordinator;
  readonly upkeep: Upkeep;
  /** Whoever waits for an end is answered soon. Call it before `stop`. */
  drain(): void;
  /** Breaks off what is being driven; it is free for other nodes when this one leaves. */
  stop(): Promise<void>;
}

export interface TransactionManagerOptions {
  readonly store: Store;
  readonly membership: Membership;
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
  const { store, membership, sealer, operator, paths, participants, maxTimeout, keptMilliseconds, onError } = options;
  const monotonic = options.monotonic ?? (() => performance.now());
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
    upkeep,
    drain: () => endWatch.drain(),
    stop: () => coordinator.stop(),
  };
}
