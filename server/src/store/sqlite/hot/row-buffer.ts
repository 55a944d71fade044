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

/** `fixed`: columns that have the same value in each row; binding a value costs more than reading it from the statement. */
export function createRowBuffer(
  db: DatabaseSync,
  table: string,
  columns: readonly string[],
  fixed: Readonly<Record<string, string>> = {},
): RowBuffer {
  const insert = prepareForRows(
    db,
    `(${[...columns.map(() => '?'), ...Object.values(fixed)].join(', ')})`,
    (rows) => `INSERT INTO ${table} (${[...columns, ...Object.keys(fixed)].join(', ')}) VALUES ${rows}`,
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
