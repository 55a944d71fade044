/**
 * Consumers, what they are entitled to, and bulk terminations that run in the background.
 *
 * `n` is the place in every listing: given once, never changed, so pages by key stay stable. Nothing is deleted. An
 * entitlement is terminated when it is `marked` itself or when its consumer's `state` is 1: terminating a consumer writes
 * one row, however many entitlements it has. `consumer.entitlements` counts those not marked, and `epoch` how often the
 * consumer went from one state to the other: what its entitlements show depends on it.
 */
import type { Migration } from '../migrate.ts';

export const consumers: Migration = {
  version: 3,
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
      'CREATE INDEX consumer_state ON consumer (state, n)',
      'CREATE INDEX consumer_entitled ON consumer (state, n) WHERE entitlements > 0',
      // Keys stand in a table of their own, so that taking one never fails a statement: it finds the place taken.
      `CREATE TABLE consumer_key (key ${text} PRIMARY KEY, consumer ${number} NOT NULL)${ending}`,
      `CREATE TABLE entitlement (
         n ${number} PRIMARY KEY, id ${text} NOT NULL UNIQUE, consumer ${number} NOT NULL,
         product ${text} NOT NULL, product_name TEXT, quantity ${number} NOT NULL, starts ${number} NOT NULL, ends ${number},
         marked ${number} NOT NULL, version ${number} NOT NULL, created ${number} NOT NULL, updated ${number} NOT NULL,
         terminated ${number}, terminated_by TEXT, terminated_reason TEXT)${ending}`,
      'CREATE INDEX entitlement_consumer ON entitlement (consumer, n)',
      'CREATE INDEX entitlement_marked ON entitlement (marked, consumer, n)',
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
