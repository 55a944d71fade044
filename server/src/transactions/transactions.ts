/** Use cases of transactions: create, register, commit, roll back, look, act as an operator. */
import type { Page } from '../http/paging.ts';
import type { Sealer } from '../ids.ts';
import type { Membership } from '../nodes/membership.ts';
import { Problem } from '../problems.ts';
import type { Store, Tx } from '../store/store.ts';
import { isFinal, isRunning, type ParticipantState, type TransactionState } from './protocol.ts';
import {
  beginPreparing,
  countParticipants,
  decideRollback,
  endPauses,
  findTransaction,
  insertParticipant,
  insertTransaction,
  listTransactions,
  lockTransaction,
  makeDue,
  markResolved,
  participantsOf,
  takePhaseTwo,
} from './queries/log.ts';
import { takeIfLost, wasForgotten } from './queries/ownership.ts';
import { type Participant, readTimeout, type Transaction } from './transaction.ts';
import type { Coordinator } from './usecases/coordinator.ts';
import type { EndWatch } from './usecases/end-watch.ts';

export interface TransactionView {
  readonly transaction: Transaction;
  readonly participants: readonly Participant[];
}

export interface Registration {
  /** A path of this service, or an absolute URI. */
  readonly uri: string;
  readonly kind: string | null;
}

export interface Transactions {
  create(timeout: string): Promise<TransactionView>;
  /** Throws 404, or 410 when it was there once. */
  get(id: number): Promise<TransactionView>;
  list(page: Page, state: TransactionState | undefined): Promise<Transaction[]>;
  /** Registers all or none. Gives the participants' ids in order and which are new. */
  register(id: number, registrations: readonly Registration[]): Promise<{ id: number; isNew: boolean }[]>;
  /** Resolves with the transaction when it has ended, or as it stands when the time is over. */
  commit(id: number, waitMilliseconds: number): Promise<TransactionView>;
  rollBack(id: number, reason: string, waitMilliseconds: number): Promise<TransactionView>;
  /** Ends the pauses between tries. A try that is under way goes on. */
  retryNow(id: number): Promise<void>;
  /** Records what an operator did by hand with a participant that cannot be reached. */
  resolve(
    id: number,
    participant: number,
    outcome: ResolvedOutcome,
    by: string | undefined,
    why: string | undefined,
  ): Promise<TransactionView>;
  readonly idOf: (word: string) => number;
  readonly wordOf: (id: number) => string;
}

export type ResolvedOutcome = 'committed' | 'rolled-back' | 'unknown';

export interface TransactionOptions {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly coordinator: Coordinator;
  readonly membership: Membership;
  readonly endWatch: EndWatch;
  /** Milliseconds. */
  readonly maxTimeout: number;
}

export function createTransactions(options: TransactionOptions): Transactions {
  const { store, sealer, coordinator, membership, endWatch, maxTimeout } = options;

  async function get(id: number): Promise<TransactionView> {
    return store.read((tx) => load(tx, id));
  }

  async function load(tx: Tx, id: number): Promise<TransactionView> {
    const transaction = await findTransaction(tx, id);
    if (transaction === undefined) throw await missing(tx, id);
    return { transaction, participants: await participantsOf(tx, id) };
  }

  async function missing(tx: Tx, id: number): Promise<Problem> {
    return (await wasForgotten(tx, id))
      ? new Problem('transaction-gone', 'the transaction ended and has been forgotten')
      : new Problem('not-found', 'there is no such transaction');
  }

  /** Runs a job with the transaction's row locked. */
  async function locked<T>(id: number, job: (tx: Tx, transaction: Transaction) => Promise<T>): Promise<T> {
    return store.transaction(async (tx) => {
      const transaction = await lockTransaction(tx, id);
      if (transaction === undefined) throw await missing(tx, id);
      return job(tx, transaction);
    });
  }

  /** The name under which this node may take a transaction now. */
  async function livingOwner(): Promise<string> {
    await membership.ensureAlive();
    return membership.id;
  }

  /** Sees to it that someone drives it, and waits for its end. */
  async function toTheEnd(id: number, wanted: 'committed' | 'rolled-back', wait: number): Promise<TransactionView> {
    void coordinator.drive(id);
    await endWatch.ended(id, wanted, wait);
    return get(id);
  }

  return {
    get,
    idOf(word) {
      const id = sealer.open(word);
      if (id === undefined) throw new Problem('not-found', 'there is no such transaction');
      return id;
    },
    wordOf: (id) => sealer.seal(id),
    async create(timeout) {
      const created = store.now();
      const fresh = { id: store.nextId(), timeout, created, deadline: created + readTimeout(timeout, maxTimeout) };
      await store.transaction((tx) => insertTransaction(tx, fresh));
      return get(fresh.id);
    },
    list: (page, state) => store.read((tx) => listTransactions(tx, page, state)),
    async register(id, registrations) {
      const fresh = registrations.map((registration) => ({ ...registration, id: store.nextId() }));
      return locked(id, async (tx, transaction) => {
        checkOpen(transaction, store.now());
        const registered = [];
        for (const each of fresh) registered.push(await insertParticipant(tx, id, each));
        return registered;
      });
    },
    async commit(id, wait) {
      const owner = await livingOwner();
      const begun = await locked(id, async (tx, transaction) => {
        if (transaction.state !== 'uncommitted') return undefined;
        if (transaction.deadline <= store.now()) {
          await decideRollback(tx, id, owner, 'the timeout was over before the commit', store.now());
          return 'rolling-back';
        }
        if ((await countParticipants(tx, id)) === 0) {
          throw new Problem('no-participants', 'nothing is registered with this transaction; it stays uncommitted');
        }
        await beginPreparing(tx, id, owner);
        return 'preparing';
      });
      if (begun === 'preparing') coordinator.begun(id);
      if (begun !== undefined) store.announce({ changed: [id] });
      return toTheEnd(id, 'committed', wait);
    },
    async rollBack(id, reason, wait) {
      const owner = await livingOwner();
      const decided = await locked(id, async (tx) => {
        const done = await decideRollback(tx, id, owner, reason, store.now());
        if (done) await makeDue(tx, id);
        return done;
      });
      if (decided) store.announce({ changed: [id] });
      return toTheEnd(id, 'rolled-back', wait);
    },
    async retryNow(id) {
      const owner = await livingOwner();
      const isUnderWay = await locked(id, async (tx, { state }) => {
        if (!isRunning(state)) return false;
        // A living owner's try is let finish: whoever fenced it off would begin the same one again, and again.
        await takeIfLost(tx, id, owner);
        await endPauses(tx, id, store.now());
        return true;
      });
      if (!isUnderWay) return;
      store.announce({ changed: [id] });
      void coordinator.drive(id);
    },
    async resolve(id, participant, outcome, by, why) {
      const owner = await livingOwner();
      await locked(id, async (tx, transaction) => {
        if (transaction.state !== 'committing' && transaction.state !== 'rolling-back') {
          throw new Problem(
            'conflict',
            `a participant can be resolved while a decision is being carried out, not while ${transaction.state}`,
          );
        }
        const resolution = { outcome, at: store.now(), ...(by && { by }), ...(why && { why }) };
        if (!(await markResolved(tx, id, participant, resolvedState(transaction.state, outcome), resolution))) {
          throw new Problem('conflict', 'this participant is not outstanding');
        }
        await takePhaseTwo(tx, id, owner);
      });
      store.announce({ changed: [id] });
      await coordinator.drive(id);
      return get(id);
    },
  };
}

/** Registering is possible before the commit: 412 when it has begun, 410 when it is over. */
export function checkOpen({ state, deadline }: Transaction, now: number): void {
  if (state === 'uncommitted' && deadline > now) return;
  if (isFinal(state)) throw new Problem('transaction-gone', `the transaction is over: ${state}`);
  const detail = state === 'uncommitted' ? 'the timeout of the transaction is over' : `the transaction is ${state}`;
  throw new Problem('commit-begun', detail);
}

function resolvedState(state: 'committing' | 'rolling-back', outcome: ResolvedOutcome): ParticipantState {
  if (outcome === 'unknown') return 'hazard';
  const ordered = state === 'committing' ? 'committed' : 'rolled-back';
  if (outcome === ordered) return ordered;
  return outcome === 'committed' ? 'heuristic-commit' : 'heuristic-rollback';
}
