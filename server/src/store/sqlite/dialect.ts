import type { Dialect, Place } from '../dialect.ts';
import { isVolatile } from '../store.ts';

const durable: Place = { message: 'main.message', delivery: 'main.delivery' };
const inMemory: Place = { message: 'volatile.message', delivery: 'volatile.delivery' };

/** One transaction runs at a time, so there is nothing to lock; lists travel as JSON. */
export function sqliteDialect(nextArrival: string): Dialect {
  return {
    forUpdate: '',
    forShare: '',
    skipLocked: '',
    inList: (parameter) => `IN (SELECT value FROM json_each(${parameter}))`,
    list: (values) => JSON.stringify(values),
    places: [durable, inMemory],
    placeOf: (messageId) => (isVolatile(messageId) ? inMemory : durable),
    nextArrival,
    bytes: 'BLOB',
    byteOrder: '',
    plainOrder: '',
  };
}
