/** The counts of a queue: what can be received and no more, however much waits and has outlived its ttl. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type EngineDatabase, forEachEngine } from '../../../../testing/engines.ts';
import { openStore } from '../../store/open.ts';
import type { Store, Tx } from '../../store/store.ts';
import { COUNT_LIMIT } from '../destination.ts';
import { countQueue } from './destinations.ts';

const NOW = 1_000_000;
const QUEUE = 1;

forEachEngine('counts', (engine) => {
  let database: EngineDatabase;
  let store: Store;
  before(async () => {
    database = await engine.database();
    const { data = '', database: url } = { data: undefined, database: undefined, ...database.options };
    store = await openStore({ database: url, folder: data, reserveBytes: 0 }, () => {});
  });
  after(async () => {
    await store.close();
    await database.drop();
  });

  let first = 0;
  /** Enters so many deliveries as they would lie there. Volatile ones have odd ids. */
  async function enter(count: number, row: { state: number; expires: number | null; dest?: number; odd?: boolean }) {
    const { state, expires, dest = QUEUE, odd = false } = row;
    const from = first;
    first += count;
    await store.transaction(async (tx) => {
      const { durableColumn, placeOf } = tx.dialect;
      const [column, value] = durableColumn === undefined ? ['', ''] : [`, ${durableColumn}`, `, ${!odd}`];
      const id = (n: string): string => `${n} * 2 + ${odd ? 1 : 0}`;
      await tx.run(
        `WITH RECURSIVE numbers (n) AS
           (SELECT CAST($1 AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < CAST($2 AS BIGINT))
         INSERT INTO ${placeOf(odd ? 1 : 2).delivery}
           (id, dest, rank, ord, state, due, expires, tries, token, size${column})
         SELECT ${id('n')}, $3, 5, n, $4, $5, $6, 0, 0, 1${value} FROM numbers`,
        [from, from + count - 1, dest, state, state === 0 ? null : NOW + 5000, expires],
      );
    });
  }
  const counts = () => store.read((tx) => countQueue(tx, QUEUE, NOW));

  test('what has outlived its ttl is not counted before the duty has come by, unless it is leased', async () => {
    for (const odd of [false, true]) {
      for (const expires of [null, NOW + 1, NOW, NOW - 1]) {
        for (const state of [0, 1, 2]) await enter(3, { state, expires, odd });
      }
    }
    await enter(50, { state: 0, expires: NOW - 5, dest: 2 });
    await enter(1, { state: 6, expires: null });
    assert.deepEqual({ ...(await counts()) }, { available: 12, delayed: 12, leased: 24, dead: 1 });
  });

  test('counting goes by indexes alone', async () => {
    const plans: string[] = [];
    await store.read((tx) => countQueue(explained(tx, plans), QUEUE, NOW));
    assert.ok(plans.length > 0);
    for (const plan of plans) {
      assert.match(plan, /index/i);
      assert.doesNotMatch(plan, /Seq Scan on \w*delivery|SCAN \S*delivery\b/, plan);
    }
  });

  test('counting stops at its limit, with and without some that are over', async () => {
    await enter(COUNT_LIMIT - 12, { state: 0, expires: null });
    assert.equal((await counts()).available, COUNT_LIMIT);
    await enter(500, { state: 0, expires: NOW - 1 });
    assert.equal((await counts()).available, COUNT_LIMIT);
    await enter(2000, { state: 0, expires: null });
    const { available } = await counts();
    // Each place where messages lie is counted to one past the limit.
    assert.ok(available > COUNT_LIMIT && available <= COUNT_LIMIT + 1 + 6, `${available}`);
  });
});

/** The statement's plan, and then what it gives. */
function explained(tx: Tx, plans: string[]): Tx {
  return {
    ...tx,
    get: async <R>(text: string, values?: Parameters<Tx['get']>[1]) => {
      const how = tx.dialect.durableColumn === undefined ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
      const steps = await tx.all<Record<string, unknown>>(`${how} ${text}`, values);
      plans.push(steps.map((step) => Object.values(step).join(' ')).join('\n'));
      return tx.get<R>(text, values);
    },
  };
}
