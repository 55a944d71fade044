/** Statements that take many rows of values at once: a call into SQLite costs about as much as the row it writes. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

/** How many rows one call takes. Each size is a statement of its own, prepared once. */
const SIZES = [16, 4, 1] as const;

/** Rows of this many are written with one call. */
export const ROWS_AT_ONCE = SIZES[0];

/**
 * `textOf` makes the statement from its rows, as they stand after VALUES. What comes back takes the values of any number
 * of rows, one after another, and runs as few statements as it takes.
 */
export function prepareForRows(
  db: DatabaseSync,
  width: number,
  textOf: (rows: string) => string,
): (values: readonly SQLInputValue[]) => void {
  const row = `(${Array(width).fill('?').join(', ')})`;
  const statements = SIZES.map((rows) => ({
    length: rows * width,
    statement: db.prepare(textOf(Array(rows).fill(row).join(', '))),
  }));
  return (values) => {
    let from = 0;
    for (const { length, statement } of statements) {
      for (; values.length - from >= length; from += length) {
        statement.run(...(length === values.length ? values : values.slice(from, from + length)));
      }
    }
  };
}
