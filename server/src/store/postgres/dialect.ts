import type { Dialect, Place } from '../dialect.ts';

/** Durable and volatile messages are partitions of one table, so there is one place. */
const place: Place = { message: 'message', delivery: 'delivery' };

export const postgresDialect: Dialect = {
  forUpdate: 'FOR UPDATE',
  forShare: 'FOR SHARE',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  inList: (parameter) => `= ANY(${parameter})`,
  list: (values) => values,
  places: [place],
  placeOf: () => place,
  nextArrival: `nextval('arrival')`,
  durableColumn: 'durable',
  bytes: 'BYTEA',
  byteOrder: 'COLLATE "C"',
  plainOrder: 'COLLATE "default"',
};
