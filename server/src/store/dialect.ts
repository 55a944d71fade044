/** The few fragments of SQL in which the engines differ. Statements are written once, with `$1` parameters. */
import type { SqlValue } from './store.ts';

/** Tables of one place where messages lie. SQLite keeps volatile ones in an attached in-memory database. */
export interface Place {
  readonly message: string;
  readonly delivery: string;
}

export interface Dialect {
  /** Locks the rows read until the transaction ends. SQLite runs one transaction at a time and needs none. */
  readonly forUpdate: string;
  readonly forShare: string;
  /** Locks the rows read and passes over those that another transaction holds. */
  readonly skipLocked: string;
  /** `column ${inList('$1')}`: membership in a list made by `list`. */
  inList(parameter: string): string;
  list(values: readonly number[] | readonly string[]): SqlValue;
  /** Where messages lie, for statements that look at all of them. */
  readonly places: readonly Place[];
  /** Where the message with this id lies. */
  placeOf(messageId: number): Place;
  /** The next place in the order of arrival, for statements that make a message visible. */
  readonly nextArrival: string;
  /** The column that says whether a message is durable, where one table holds both kinds. */
  readonly durableColumn?: string;
  /** Column types that differ. */
  readonly bytes: string;
  /** Text compared by its bytes. */
  readonly byteOrder: string;
  /** Text compared as that of a column of which nothing is said. */
  readonly plainOrder: string;
}
