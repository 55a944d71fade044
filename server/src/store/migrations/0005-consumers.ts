/**
 * Consumers, what they are entitled to, and bulk terminations that run in the background.
 *
 * `n` is the place in every listing: given once, never changed, so pages by key stay stable. Nothing is deleted. An
 * entitlement is terminated when it is `marked` itself or when its consumer's `state` is 1: terminating a consumer writes
 * one row, however many entitlements it has. `consumer.entitlements` counts those not marked, and `epoch` how often the
 * consumer went from one state to the other: what its entitlements show depends on it.
 */
import type { Migration, MigrationContext } from '../migrate.ts';

interface StateIndex {
  readonly name: string;
  readonly table: string;
  /** A column that is 0 or 1. */
  readonly state: string;
  readonly columns: string;
  readonly where?: string;
}

/**
 * An index for walks over the rows of one state. PostgreSQL, once it knows that most rows are in that state, would rather
 * walk over all rows and drop the others, which is ruinous where those others lie side by side; an index for each state
 * is never dearer. SQLite prefers its primary key to such an index, but not to one that begins with the state.
 */
function stateIndexes(
  engine: MigrationContext['engine'],
  { name, table, state, columns, where }: StateIndex,
): string[] {
  if (engine === 'sqlite') {
    return [`CREATE INDEX ${name} ON ${table} (${state}, ${columns})${where === undefined ? '' : ` WHERE ${where}`}`];
  }
  const more = where === undefined ? '' : ` AND ${where}`;
  return [0, 1].map(
    (value) => `CREATE INDEX ${name}_${value} ON ${table} (${columns}) WHERE ${state} = ${value}${more}`,
  );
}

export const consumers: Migration = {
  version: 5,
  statements: ({ engine, dialect }) => {
    const number = engine === 'sqlite' ? 'INTEGER' : 'BIGINT';
    const text = `TEXT ${dialect.byteOrder}`;
    const ending = engine === 'sqlite' ? ' STRICT' : '';
    return [
      `CREATE TABLE consumer (
         n ${number} PRIMARY KEY, id ${text} NOT NULL UNIQUE, name TEXT NOT NULL, external_key TEXT, metadata TEXT,
         state ${number} NOT NULL, version ${number} NOT NULL, epoch ${number} NOT NULL, entitlements ${number} NOT NULL,
         created ${number} NOT NULL, updated ${number} NOT NULL,
         terminated ${number}, terminated_by TEXT, terminated_reason TEXT)${ending}`,
      ...stateIndexes(engine, { name: 'consumer_state', table: 'consumer', state: 'state', columns: 'n' }),
      ...stateIndexes(engine, {
        name: 'consumer_entitled',
        table: 'consumer',
        state: 'state',
        columns: 'n',
        where: 'entitlements > 0',
      }),
      // Keys stand in a table of their own, so that taking one never fails a statement: it finds the place taken.
      `CREATE TABLE consumer_key (key ${text} PRIMARY KEY, consumer ${number} NOT NULL)${ending}`,
      // PostgreSQL gets no index on `n` or on the consumer alone. Believing that each consumer has few entitlements, or that
      // few are newer than a given one, it would look for a product or for the newest ones along those.
      `CREATE TABLE entitlement (
         n ${number} ${engine === 'sqlite' ? 'PRIMARY KEY' : 'NOT NULL'}, id ${text} NOT NULL UNIQUE, consumer ${number} NOT NULL,
         product ${text} NOT NULL, product_name TEXT, quantity ${number} NOT NULL, starts ${number} NOT NULL, ends ${number},
         marked ${number} NOT NULL, version ${number} NOT NULL, created ${number} NOT NULL, updated ${number} NOT NULL,
         terminated ${number}, terminated_by TEXT, terminated_reason TEXT)${ending}`,
      ...stateIndexes(engine, {
        name: 'entitlement_marked',
        table: 'entitlement',
        state: 'marked',
        columns: 'consumer, n',
      }),
      'CREATE INDEX entitlement_product ON entitlement (product, consumer, n)',
      // `targets` is a JSON list; `done` of its `total` have an outcome, which stands in the pieces.
      `CREATE TABLE termination (
         id ${number} PRIMARY KEY, kind TEXT NOT NULL, targets TEXT NOT NULL, strict ${number} NOT NULL,
         reason TEXT, ordered_by TEXT, total ${number} NOT NULL, done ${number} NOT NULL,
         created ${number} NOT NULL, finished ${number})${ending}`,
      'CREATE INDEX termination_open ON termination (id) WHERE finished IS NULL',
      'CREATE INDEX termination_over ON termination (finished) WHERE finished IS NOT NULL',
      `CREATE TABLE termination_piece (
         job ${number} NOT NULL, first ${number} NOT NULL, outcomes TEXT NOT NULL, PRIMARY KEY (job, first))${ending}`,
    ];
  },
};
