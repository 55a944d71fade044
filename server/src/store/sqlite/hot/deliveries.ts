/** The deliveries of a group's posts to queues: entered at once, or noted where they go to many queues. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { createDeliveryBuffer, createNotedDeliveries, DELIVERY_COLUMNS } from '../noted-deliveries.ts';

/** From so many queues on, the deliveries of a group are noted. */
const MANY_QUEUES = 8;
/** So many are noted at most: whoever enters them does it in one go, while others wait. */
const MOST_NOTED = 512;

export interface Deliveries {
  /** The values of a delivery, in the order of their columns. */
  add(queue: number, ...values: SQLInputValue[]): void;
  /** Writes those of the group. `mayNote`: nobody in this group looks at deliveries. */
  flush(mayNote: boolean): void;
  /** The transaction was rolled back. */
  discard(): void;
  enterNoted(): void;
  /** Others may have entered what was noted, or what was written was rolled back. */
  disturbed(): void;
}

export function createDeliveries(db: DatabaseSync): Deliveries {
  const noted = createNotedDeliveries(db);
  const entered = createDeliveryBuffer(db, 'main');
  let values: SQLInputValue[] = [];
  const queues = new Set<number>();

  function enter(added: readonly SQLInputValue[]): void {
    entered.addAll(added);
    entered.flush();
  }

  return {
    add(queue, ...more) {
      values.push(...more);
      queues.add(queue);
    },
    flush(mayNote) {
      if (values.length === 0) return;
      const added = values;
      const toMany = mayNote && queues.size >= MANY_QUEUES;
      values = [];
      queues.clear();
      if (!toMany) enter(added);
      else if (noted.count() + added.length / DELIVERY_COLUMNS.length <= MOST_NOTED) noted.note(added);
      else {
        // In one go, since they change the same pages.
        noted.enter();
        enter(added);
      }
    },
    discard() {
      values = [];
      queues.clear();
      entered.discard();
    },
    enterNoted: noted.enter,
    disturbed: noted.forget,
  };
}
