/** What a node does for transactions in the background: say that it lives, take over, roll back, retry, forget. */
import type { Store, Tx } from '../../store/store.ts';
import { decideRollback, makeDue } from '../queries/log.ts';
import {
  forgetFinished,
  forgetNodes,
  overdue,
  ownedRunning,
  takeOver,
  withDueParticipants,
} from '../queries/ownership.ts';
import type { Coordinator } from './coordinator.ts';
import type { Membership } from './membership.ts';

const CHUNK = 100;
const LOOK_EVERY = 500;
const FORGET_EVERY = 10_000;
const LOOK_FOR_LOST_EVERY = 3000;
const NODES_KEPT = 3_600_000;

export interface Upkeep {
  /** Has a transaction driven at that time. */
  schedule(id: number, at: number): void;
  isScheduled(id: number): boolean;
  /** All tell in how many milliseconds they want to run again. */
  drive(): Promise<number>;
  /** Drives what this node owns without knowing: the commit that made it the owner was never confirmed to it. */
  findLost(): Promise<number>;
  forget(): Promise<number>;
}

export interface UpkeepOptions {
  readonly store: Store;
  readonly membership: Membership;
  /** Given when both are made: each needs the other. */
  readonly coordinator: () => Coordinator;
  readonly keptMilliseconds: number;
}

export function createUpkeep(options: UpkeepOptions): Upkeep {
  const { store, membership, coordinator, keptMilliseconds } = options;
  const pending = new Map<number, number>();

  async function rollBackOverdue(): Promise<number[]> {
    const late = await store.read((tx) => overdue(tx, store.now(), CHUNK));
    if (late.length === 0) return [];
    await membership.ensureAlive();
    const outcomes = await Promise.all(
      late.map((id) => store.transaction((tx) => rollBack(tx, id, 'the timeout was over'))),
    );
    const decided = late.filter((_, index) => outcomes[index]);
    if (decided.length > 0) store.announce({ changed: decided });
    return decided;
  }

  async function rollBack(tx: Tx, id: number, reason: string): Promise<boolean> {
    const decided = await decideRollback(tx, id, membership.node, reason, store.now());
    if (decided) await makeDue(tx, id);
    return decided;
  }

  /** What a lost node left behind: what it had not decided is rolled back, what it had decided is carried out. */
  async function adopt(tx: Tx, now: number): Promise<number[]> {
    const taken = await takeOver(tx, membership.node, now, CHUNK);
    for (const { id, state } of taken) {
      if (state === 'preparing') await rollBack(tx, id, 'the node that coordinated it was lost before the decision');
    }
    return taken.map(({ id }) => id);
  }

  let lookedAt = 0;

  function pendingNow(): number[] {
    const due = [...pending].filter(([, at]) => at <= store.now()).map(([id]) => id);
    for (const id of due) pending.delete(id);
    return due;
  }

  return {
    schedule(id, at) {
      pending.set(id, Math.min(at, pending.get(id) ?? at));
    },
    isScheduled: (id) => pending.has(id),
    async drive() {
      const rolled = await rollBackOverdue();
      const now = store.now();
      const { taken, due } = await store.transaction(async (tx) => ({
        taken: await adopt(tx, now),
        due: await withDueParticipants(tx, membership.node, now, CHUNK),
      }));
      if (taken.length > 0 || pending.size > 0 || coordinator().isBusy) await membership.ensureAlive();
      // Not awaited: one participant that hangs must not hold up the others' transactions.
      for (const id of new Set([...rolled, ...taken, ...due, ...pendingNow()])) void coordinator().drive(id);
      return rolled.length + taken.length >= CHUNK ? 0 : LOOK_EVERY;
    },
    async findLost() {
      const owned = await store.read((tx) => ownedRunning(tx, membership.node, lookedAt, CHUNK));
      lookedAt = owned.length < CHUNK ? 0 : (owned.at(-1) ?? 0);
      for (const id of owned) if (!pending.has(id) && !coordinator().isDriving(id)) void coordinator().drive(id);
      return owned.length < CHUNK ? LOOK_FOR_LOST_EVERY : LOOK_EVERY;
    },
    async forget() {
      const now = store.now();
      const forgotten = await store.transaction(async (tx) => {
        await forgetNodes(tx, now - NODES_KEPT);
        return forgetFinished(tx, now - keptMilliseconds, CHUNK);
      });
      return forgotten >= CHUNK ? 0 : FORGET_EVERY;
    },
  };
}
