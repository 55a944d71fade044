/**
 * New rows of one table, gathered. They are written when enough have come together, and at the latest when the group that
 * added them flushes (see group-commit.ts).
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { prepareForRows, ROWS_AT_ONCE } from './many-rows.ts';

export interface RowBuffer {
  add(...row: SQLInputValue[]): void;
  flush(): void;
  /** Forgets rows whose transaction was rolled back. */
  discard(): void;
}

export function createRowBuffer(db: DatabaseSync, table: string, columns: readonly string[]): RowBuffer {
  const insert = prepareForRows(
    db,
    columns.length,
    (rows) => `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${rows}`,
  );
  const full = ROWS_AT_ONCE * columns.length;
  let values: SQLInputValue[] = [];

  function flush(): void {
    const pending = values;
    values = [];
    insert(pending);
  }

  return {
    add(...row) {
      values.push(...row);
      if (values.length === full) flush();
    },
    flush,
    discard() {
      values = [];
    },
  };
}
