/** Moves messages that nobody could take to the dead-letter queue of their queue, which comes with the first of them. */
import type { Store, Tx } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import { timeAfter } from '../message.ts';
import { holdQueue, markDeadLetter } from '../queries/destinations.ts';
import { moveToDeadLetter } from '../queries/redelivery.ts';

export interface DeadMessage {
  readonly id: number;
  /** Why it is dead, in words. */
  readonly reason: string;
}

/** Gives the dead-letter queue; it was none before when `isDeadLetter` is false. The queue must have one. */
export type Bury = (tx: Tx, queue: Destination, dead: readonly DeadMessage[], now: number) => Promise<Destination>;

export function createBurial(store: Store): Bury {
  return async (tx, queue, dead, now) => {
    const name = queue.effective['dead-letter'] as string;
    const fresh = { id: store.nextId(), kind: 'queue', name, settings: {}, version: 1, created: now } as const;
    const target = await holdQueue(tx, fresh);
    await markDeadLetter(tx, target.id);
    const due = timeAfter(now, queue.effective.retention);
    for (const { id, reason } of dead) {
      const burial = { id: store.nextId() * 2, destination: target.id, origin: queue.name, reason, due };
      await moveToDeadLetter(tx, { id }, burial);
    }
    return target;
  };
}
