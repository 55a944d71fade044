/**
 * Deliveries that are noted now and entered later. Every queue has its own page in the index of what is ready, so that a
 * group of posts to many queues changes nearly as many pages as it has posts, and each page costs as much as the rest of its
 * post. Such a group notes its deliveries, all in one row, in the commit that stores their messages. They are entered
 * together with those of many other groups, which change the same pages.
 *
 * Nobody ever sees the difference: what is noted is entered before anything that looks at deliveries. The hot thread does
 * so before whatever is not a post, everybody else at the beginning of each transaction.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { createRowBuffer, type RowBuffer } from './row-buffer.ts';

export const DELIVERY_COLUMNS = ['id', 'dest', 'rank', 'ord', 'state', 'due', 'expires', 'size'];

/** New deliveries, of messages that nobody has tried to deliver yet. */
export const createDeliveryBuffer = (db: DatabaseSync, schema: 'main' | 'volatile'): RowBuffer =>
  createRowBuffer(db, `${schema}.delivery`, DELIVERY_COLUMNS, { fixed: { tries: '0', token: '0' } });

export interface NotedDeliveries {
  /** How many there are. */
  count(): number;
  /** The values of several deliveries, one after another, as the buffer of deliveries takes them. */
  note(values: readonly SQLInputValue[]): void;
  /** Enters all that are noted. Whoever calls it has a transaction, and gives it up when this fails. */
  enter(): void;
  /** Others may have noted or entered some, or the transaction was rolled back. */
  forget(): void;
}

export function createNotedDeliveries(db: DatabaseSync): NotedDeliveries {
  const insert = db.prepare('INSERT INTO main.noted_deliveries (count, rows) VALUES (?, ?)');
  const countAll = db.prepare('SELECT coalesce(sum(count), 0) AS count FROM main.noted_deliveries');
  const readAll = db.prepare('SELECT rows FROM main.noted_deliveries ORDER BY number');
  const removeAll = db.prepare('DELETE FROM main.noted_deliveries');
  const entered = createDeliveryBuffer(db, 'main');
  /** Undefined: it has to be looked up. */
  let known: number | undefined;

  const count = (): number => {
    known ??= (countAll.get() as { count: number }).count;
    return known;
  };

  function enterAll(): void {
    for (const { rows } of readAll.all() as { rows: string }[]) entered.addAll(JSON.parse(rows) as (number | null)[]);
    entered.flush();
    removeAll.run();
  }

  return {
    count,
    note(values) {
      const more = values.length / DELIVERY_COLUMNS.length;
      const total = count() + more;
      insert.run(more, JSON.stringify(values));
      known = total;
    },
    enter() {
      if (count() === 0) return;
      try {
        enterAll();
        known = 0;
      } catch (error) {
        entered.discard();
        known = undefined;
        throw error;
      }
    },
    forget() {
      known = undefined;
    },
  };
}
