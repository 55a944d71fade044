/**
 * A rollback that overtakes a commit, step by step: the clock stands still, so an end that has to wait for anything but
 * the participants' answers is never reached.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { temporaryFolder } from '../../../testing/folders.ts';
import { createSealer } from '../../src/ids.ts';
import { createDestinations } from '../../src/messaging/usecases/destinations.ts';
import { createEvents } from '../../src/messaging/usecases/events.ts';
import { createMember } from '../../src/nodes/membership.ts';
import { createOperator } from '../../src/operator/operator.ts';
import { openSqlite } from '../../src/store/sqlite/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { createTransactionPaths } from '../../src/transactions/addresses.views.ts';
import type { Order, Reply } from '../../src/transactions/protocol.ts';
import { createTransactionManager, type TransactionManager } from '../../src/transactions/usecases/manager.ts';

const NOW = 1_800_000_000_000;
/** What a client waits at most. Never used up, unless the test fails. */
const PATIENCE = 20_000;
const URIS = ['http://a.example/state', 'http://b.example/state'];

type Answering = (order: Order, uri: string) => Promise<Reply> | Reply;

describe('a rollback overtakes a commit', () => {
  let store: Store;
  before(async () => {
    store = await openSqlite(temporaryFolder({ inMemory: true }), { now: () => NOW, reserveBytes: 0 });
  });
  after(() => store.close());

  function startNode(answering: Answering, seen: Store = store): TransactionManager {
    const sealer = createSealer(store.secret);
    return createTransactionManager({
      store: seen,
      membership: createMember({
        store: seen,
        // Each node is at a place of its own: nobody takes over what another one has.
        place: () => ({ name: randomUUID(), process: 1 }),
        isOtherRunning: () => true,
        isAlone: false,
        monotonic: () => 0,
      }),
      sealer,
      operator: createOperator(seen, createEvents(seen, createDestinations(seen)), sealer, (id) => `/notices/${id}`),
      paths: createTransactionPaths(sealer),
      participants: {
        order: async ({ uri }, _, order) => answering(order, uri),
        look: () => assert.fail('nobody needs to be looked at'),
      },
      maxTimeout: 3_600_000,
      keptMilliseconds: 86_400_000,
      monotonic: () => 0,
      onError: (error) => {
        throw error;
      },
    });
  }

  async function begin({ transactions }: TransactionManager): Promise<number> {
    const { id } = (await transactions.create('30000')).transaction;
    await transactions.register(
      id,
      URIS.map((uri) => ({ uri, kind: null })),
    );
    return id;
  }

  const rollBack = async ({ transactions }: TransactionManager, id: number): Promise<string> =>
    (await transactions.rollBack(id, 'a client asked for it', PATIENCE)).transaction.state;
  const commit = async ({ transactions }: TransactionManager, id: number): Promise<string> =>
    (await transactions.commit(id, PATIENCE)).transaction.state;

  /** A store whose reads wait, once it is told so. */
  function heldReads(): { seen: Store; hold(): void; release(): void } {
    let gate: PromiseWithResolvers<void> | undefined;
    return {
      seen: {
        ...store,
        async read(job) {
          await gate?.promise;
          return store.read(job);
        },
      },
      hold: () => {
        gate = Promise.withResolvers();
      },
      release: () => gate?.resolve(),
    };
  }

  for (const nodes of [1, 2]) {
    it(`before the first prepare has left, ${nodes === 1 ? 'on the same node' : 'on another node'}`, async () => {
      const orders: Order[] = [];
      const answering: Answering = (order) => {
        orders.push(order);
        return { status: 200, state: order };
      };
      const reads = heldReads();
      const committing = startNode(answering, reads.seen);
      const other = nodes === 1 ? committing : startNode(answering);
      const id = await begin(committing);
      reads.hold();
      const committed = commit(committing, id);
      while ((await stateOf(id)) !== 'preparing');
      const rolledBack = rollBack(other, id);
      while ((await stateOf(id)) !== 'rolling-back');
      // The node that rolls back has got as far as it can by itself.
      if (other !== committing) await other.coordinator.settled();
      reads.release();
      assert.deepEqual(await Promise.all([committed, rolledBack]), ['rolled-back', 'rolled-back']);
      assert.ok(!orders.includes('prepared') && !orders.includes('committed'), orders.join());
    });
  }

  const votes: [string, Reply][] = [
    ['yes', { status: 200, state: 'prepared' }],
    ['no', { status: 409 }],
  ];
  for (const [vote, reply] of votes) {
    it(`while another node waits for votes, and they are ${vote}: the last order is to roll back`, async () => {
      const voting = Promise.withResolvers<Reply>();
      const answered: string[] = [];
      const asked = Promise.withResolvers<void>();
      const committing = startNode(async (order, uri) => {
        assert.equal(order, 'prepared');
        if (uri === URIS[1]) asked.resolve();
        const said = await voting.promise;
        answered.push(order);
        return said;
      });
      const other = startNode((order) => {
        answered.push(order);
        return { status: 200, state: order };
      });
      const id = await begin(committing);
      const committed = commit(committing, id);
      await asked.promise;
      const rolledBack = rollBack(other, id);
      while ((await stateOf(id)) !== 'rolling-back');
      await other.coordinator.settled();
      assert.equal(await stateOf(id), 'rolling-back', 'a prepare is still on its way');
      voting.resolve(reply);
      assert.deepEqual(await Promise.all([committed, rolledBack]), ['rolled-back', 'rolled-back']);
      // One that may have prepared after the first rollback is told again.
      if (vote === 'yes') assert.deepEqual(answered.slice(-2), ['rolled-back', 'rolled-back']);
    });
  }

  it('a lost announcement: what the other node does from time to time finds the vote', async () => {
    const voting = Promise.withResolvers<Reply>();
    const asked = Promise.withResolvers<void>();
    const committing = startNode((_, uri) => {
      if (uri === URIS[1]) asked.resolve();
      return voting.promise;
    });
    const other = startNode((order) => ({ status: 200, state: order }), { ...store, listen: () => {} });
    const id = await begin(committing);
    await committing.transactions.commit(id, 0);
    await asked.promise;
    await other.transactions.rollBack(id, 'a client asked for it', 0);
    await other.coordinator.settled();
    voting.resolve({ status: 200, state: 'prepared' });
    await committing.coordinator.settled();
    await other.upkeep.drive();
    await other.coordinator.settled();
    assert.equal(await stateOf(id), 'rolled-back');
  });

  async function stateOf(id: number): Promise<string> {
    const rows = await store.read((tx) => tx.all<{ state: string }>('SELECT state FROM txn WHERE id = $1', [id]));
    return rows[0]?.state ?? assert.fail('no such transaction');
  }
});
