/**
 * New rows of one table, gathered: a call into SQLite costs about as much as the row it writes. They are written when many
 * have come together, and at the latest when the group that added them flushes (see hot/hot-group.ts).
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

/** How many rows a call takes. Each size is a statement of its own, prepared when it is first wanted. */
const SIZES = [64, 32, 16, 8, 4, 2, 1] as const;

export interface RowBuffer {
  add(...row: SQLInputValue[]): void;
  /** The values of many rows, one after another. */
  addAll(rows: readonly SQLInputValue[]): void;
  flush(): void;
  /** Forgets rows whose transaction was rolled back. */
  discard(): void;
}

export interface RowOptions {
  /** Columns that have the same value in each row: binding a value costs more than reading it from the statement. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** What to do with a row that is there. */
  readonly onConflict?: string;
}

export function createRowBuffer(
  db: DatabaseSync,
  table: string,
  columns: readonly string[],
  { fixed = {}, onConflict = '' }: RowOptions = {},
): RowBuffer {
  const width = columns.length;
  const most = SIZES[0] * width;
  const names = [...columns, ...Object.keys(fixed)].join(', ');
  const row = `(${[...columns.map(() => '?'), ...Object.values(fixed)].join(', ')})`;
  const statements = new Map<number, StatementSync>();
  let values: SQLInputValue[] = [];

  function statementFor(rows: number): StatementSync {
    let found = statements.get(rows);
    if (found === undefined) {
      // OR FAIL: whoever flushes undoes everything when one row fails. By default SQLite would prepare to undo the statement
      // alone, for which it copies every page that it changes.
      const into = `INSERT OR FAIL INTO ${table} (${names})`;
      found = db.prepare(`${into} VALUES ${Array(rows).fill(row).join(', ')} ${onConflict}`);
      statements.set(rows, found);
    }
    return found;
  }

  function flush(): void {
    const pending = values;
    values = [];
    let from = 0;
    for (const rows of SIZES) {
      const length = rows * width;
      for (; pending.length - from >= length; from += length) {
        statementFor(rows).run(...(length === pending.length ? pending : pending.slice(from, from + length)));
      }
    }
  }

  // Now, so that a mistake shows when the store is opened.
  statementFor(1);
  return {
    add(...row) {
      values.push(...row);
      if (values.length === most) flush();
    },
    addAll(rows) {
      for (let from = 0; from < rows.length; from += most) {
        values.push(...rows.slice(from, from + most));
        if (values.length >= most) flush();
      }
    },
    flush,
    discard() {
      values = [];
    },
  };
}
