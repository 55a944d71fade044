/** Statements that take many rows of values at once: a call into SQLite costs about as much as the row it writes. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

/** How many rows a call takes. Each size is a statement of its own, prepared when it is first wanted. */
const SIZES = [64, 32, 16, 8, 4, 2, 1] as const;

/** Rows of this many are written with one call. */
export const ROWS_AT_ONCE = SIZES[0];

/**
 * `row` is one row as it stands after VALUES, `textOf` makes the statement from all of them. What comes back takes the values of any number
 * of rows, one after another, and runs as few statements as it takes.
 */
export function prepareForRows(
  db: DatabaseSync,
  row: string,
  textOf: (rows: string) => string,
): (values: readonly SQLInputValue[]) => void {
  const width = row.split('?').length - 1;
  const statements = new Map<number, StatementSync>();
  const statementFor = (rows: number): StatementSync => {
    let found = statements.get(rows);
    if (found === undefined) {
      found = db.prepare(textOf(Array(rows).fill(row).join(', ')));
      statements.set(rows, found);
    }
    return found;
  };
  // Now, so that a mistake in the text shows when the store is opened.
  statementFor(1);
  return (values) => {
    let from = 0;
    for (const rows of SIZES) {
      const length = rows * width;
      for (; values.length - from >= length; from += length) {
        statementFor(rows).run(...(length === values.length ? values : values.slice(from, from + length)));
      }
    }
  };
}
