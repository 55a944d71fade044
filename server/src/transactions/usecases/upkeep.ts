/** What a node does for transactions in the background: take over, roll back, retry, forget. */
import type { Membership } from '../../nodes/membership.ts';
import type { Store, Tx } from '../../store/store.ts';
import { decideRollback, makeDue } from '../queries/log.ts';
import {
  forgetFinished,
  forgetForgotten,
  overdue,
  ownedRunning,
  takeOver,
  withDueParticipants,
} from '../queries/ownership.ts';
import type { Coordinator } from './coordinator.ts';

const CHUNK = 100;
const LOOK_EVERY = 500;
const FORGET_EVERY = 10_000;
const LOOK_FOR_LOST_EVERY = 3000;

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
    const owner = membership.id;
    const outcomes = await Promise.all(
      late.map((id) => store.transaction((tx) => rollBack(tx, id, owner, 'the timeout was over'))),
    );
    const decided = late.filter((_, index) => outcomes[index]);
    if (decided.length > 0) store.announce({ changed: decided });
    return decided;
  }

  async function rollBack(tx: Tx, id: number, owner: string, reason: string): Promise<boolean> {
    const decided = await decideRollback(tx, id, owner, reason, store.now());
    if (decided) await makeDue(tx, id);
    return decided;
  }

  /** What a lost node left behind: what it had not decided is rolled back, what it had decided is carried out. */
  async function adopt(tx: Tx, owner: string): Promise<number[]> {
    const taken = await takeOver(tx, owner, CHUNK);
    for (const { id, state } of taken) {
      if (state !== 'preparing') continue;
      await rollBack(tx, id, owner, 'the node that coordinated it was lost before the decision');
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
      // Nothing is given to a node that others may hold for dead.
      await membership.ensureAlive();
      const rolled = await rollBackOverdue();
      const [now, owner] = [store.now(), membership.id];
      const { taken, due } = await store.transaction(async (tx) => ({
        taken: await adopt(tx, owner),
        due: await withDueParticipants(tx, owner, now, CHUNK),
      }));
      // Not awaited: one participant that hangs must not hold up the others' transactions.
      for (const id of new Set([...rolled, ...taken, ...due, ...pendingNow()])) void coordinator().drive(id);
      await coordinator().lookForOvertaken();
      return rolled.length + taken.length >= CHUNK ? 0 : LOOK_EVERY;
    },
    async findLost() {
      const owner = membership.id;
      const owned = await store.read((tx) => ownedRunning(tx, owner, lookedAt, CHUNK));
      lookedAt = owned.length < CHUNK ? 0 : (owned.at(-1) ?? 0);
      for (const id of owned) if (!pending.has(id) && !coordinator().isDriving(id)) void coordinator().drive(id);
      return owned.length < CHUNK ? LOOK_FOR_LOST_EVERY : LOOK_EVERY;
    },
    async forget() {
      const now = store.now();
      const [forgotten, lost] = await store.transaction(async (tx) => [
        await forgetFinished(tx, now - keptMilliseconds, now + keptMilliseconds, CHUNK),
        await forgetForgotten(tx, now, CHUNK),
      ]);
      return Math.max(forgotten, lost) >= CHUNK ? 0 : FORGET_EVERY;
    },
  };
}
