/** Many open transactions cost rows, not timers. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { temporaryFolder } from '../../../testing/folders.ts';
import { createSealer } from '../../src/ids.ts';
import { createDestinations } from '../../src/messaging/usecases/destinations.ts';
import { createEvents } from '../../src/messaging/usecases/events.ts';
import { createMember } from '../../src/nodes/membership.ts';
import { createOperator } from '../../src/operator/operator.ts';
import { openSqlite } from '../../src/store/sqlite/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { createTransactionPaths } from '../../src/transactions/addresses.views.ts';
import { createTransactionManager, type TransactionManager } from '../../src/transactions/usecases/manager.ts';

const COUNT = 10_000;
/** So many of them have a time that will be over. */
const SHORT = 500;

describe('ten thousand open transactions', () => {
  let store: Store;
  let manager: TransactionManager;
  let time = Date.now();

  before(async () => {
    store = await openSqlite(temporaryFolder({ inMemory: true }), { now: () => time, reserveBytes: 0 });
    const sealer = createSealer(store.secret);
    const events = createEvents(store, createDestinations(store));
    manager = createTransactionManager({
      store,
      membership: createMember({
        store,
        place: () => ({ name: 'here', process: 1 }),
        isOtherRunning: () => false,
        isAlone: true,
      }),
      sealer,
      operator: createOperator(store, events, sealer, (notice) => `/operator-notices/${notice}`),
      paths: createTransactionPaths(sealer),
      participants: { order: async () => ({ status: 204 }), look: async () => ({ status: 200 }) },
      maxTimeout: 3_600_000,
      keptMilliseconds: 1000,
      onError: (error) => assert.fail(error as Error),
    });
  });
  after(async () => {
    await manager.stop();
    await store.close();
  });

  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;

  test('no timer for any of them, and those whose time is over end and are forgotten', async () => {
    const before = timers();
    await Promise.all(
      Array.from({ length: COUNT }, async (_, index) => {
        const { transaction } = await manager.transactions.create(index < SHORT ? '1000' : '3600000');
        if (index >= SHORT) return;
        await manager.transactions.register(transaction.id, [{ uri: `http://p${index}.example/state`, kind: null }]);
      }),
    );
    assert.ok(timers() <= before + 2, `${timers()} timers, ${before} before`);
    time += 3000;
    for (let rounds = 0; rounds < SHORT / 50; rounds++) {
      const pause = await manager.upkeep.drive();
      await manager.coordinator.settled();
      if (pause > 0) break;
    }
    const ended = await store.read((tx) =>
      tx.get<{ count: number }>(`SELECT count(*) AS count FROM txn WHERE state = 'rolled-back'`),
    );
    assert.equal(ended?.count, SHORT);
    time += 2000;
    while ((await manager.upkeep.forget()) === 0);
    const left = await store.read((tx) => tx.get<{ count: number }>('SELECT count(*) AS count FROM participant'));
    assert.equal(left?.count, 0);
  });
});
