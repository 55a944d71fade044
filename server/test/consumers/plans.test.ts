/** How each listing is carried out: along an index, in its order, reading no more than it gives. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type EngineDatabase, forEachEngine } from '../../../testing/engines.ts';
import { plansOf } from '../../src/consumers/explain.fixtures.ts';
import { analyse, FIRST, fillConsumers, fillHeavy, firstOfHeavy } from '../../src/consumers/filling.fixtures.ts';
import { type Heavy, listingStatements } from '../../src/consumers/plans.fixtures.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';

const CONSUMERS = 20_000;
const HEAVY: Heavy = { consumer: FIRST + CONSUMERS, first: firstOfHeavy(FIRST + CONSUMERS), count: 5_000 };

forEachEngine('plans of the listings', (engine) => {
  let database: EngineDatabase;
  let store: Store;
  before(async () => {
    database = await engine.database();
    const { options } = database;
    const location =
      'data' in options ? { database: undefined, folder: options.data } : { database: options.database, folder: '' };
    store = await openStore({ ...location, reserveBytes: 0 }, () => {});
  });
  after(async () => {
    await store.close();
    await database.drop();
  });

  const check = async (): Promise<void> => {
    for (const statement of listingStatements(store.dialect, CONSUMERS, HEAVY)) {
      for (const { shown, faults } of await plansOf(store, statement)) {
        assert.deepEqual(faults, [], `${statement.name}: ${shown}`);
      }
    }
  };

  it('go along an index while the tables are empty', check);
  it('fills the tables', async () => {
    await fillConsumers(store, { consumers: CONSUMERS, each: 3, terminated: 4 });
    await fillHeavy(store, CONSUMERS, HEAVY.count);
    // What the engines show of a name is what a client would have written.
    const sql = 'SELECT product FROM entitlement WHERE n = $1';
    for (const [n, name] of [
      [FIRST + 15, 'product 5'],
      [HEAVY.first + 7, 'product 7'],
    ] as const) {
      assert.equal((await store.read((tx) => tx.get(sql, [n])))?.product, name);
    }
  });
  it('counts what it filled in as the service would', async () => {
    const counted = `SELECT count(*) AS wrong FROM consumer c WHERE entitlements <>
      (SELECT count(*) FROM entitlement e WHERE e.consumer = c.n AND e.marked = 0) AND (c.n % 100 = 3 OR c.name = 'heavy')`;
    assert.equal((await store.read((tx) => tx.get<{ wrong: number }>(counted)))?.wrong, 0);
  });
  it('go along an index when the tables were never analysed', check);
  it('go along an index when they were', async () => {
    await analyse(store);
    await check();
  });
});
