/**
 * A rollback overtakes a commit on another node, and the news of it is lost: what each node finds in the log by itself
 * is enough. Only the time that a test lets pass goes by.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import { Problem } from '../../src/problems.ts';
import type { Store } from '../../src/store/store.ts';
import type { Participants } from '../../src/transactions/usecases/participants.ts';
import { answeredByHand, type ManagerGround, openManagerGround } from './nodes.ts';

const URI = 'http://a.example/state';
const DEAF: Partial<Store> = { listen: () => {} };
const willing: Participants['order'] = async (_participant, _transaction, order) => ({ status: 200, state: order });
/** Only used up when the test fails. */
const TIMEOUT = 10_000;

forEachEngine('a rollback overtakes a commit and nobody is told', (engine) => {
  let ground: ManagerGround;
  beforeEach(async () => {
    ground = await openManagerGround(engine);
  });
  afterEach(() => ground.close());

  const stateOf = async (id: number): Promise<string> => (await ground.view(id)).transaction.state;

  test('a refusal that arrives then ends it', { timeout: TIMEOUT }, async () => {
    const { order, next } = answeredByHand('prepared');
    const committing = ground.start(order, DEAF);
    const other = ground.start(willing, DEAF);
    const id = await ground.begin(committing, [URI]);
    await committing.manager.transactions.commit(id, 0);
    const vote = await next();
    await other.manager.transactions.rollBack(id, 'a client asked for it', 0);
    await other.manager.coordinator.settled();
    assert.equal(await stateOf(id), 'rolling-back', 'a prepare is still on its way');
    vote({ status: 409 });
    await committing.manager.coordinator.settled();
    assert.equal(await stateOf(id), 'rolled-back');
  });

  test('the node that waits for votes finds out by itself, and does not wait for long', {
    timeout: 14_000,
  }, async () => {
    const asked = Promise.withResolvers<void>();
    const silent: Participants['order'] = (_participant, _transaction, _order, { signal }) =>
      new Promise((resolve) => {
        signal?.addEventListener('abort', () => resolve({ status: 0, detail: 'broken off' }));
        asked.resolve();
      });
    const committing = ground.start(silent, DEAF);
    const other = ground.start(willing, DEAF);
    const id = await ground.begin(committing, [URI]);
    await committing.manager.transactions.commit(id, 0);
    await asked.promise;
    await other.manager.transactions.rollBack(id, 'a client asked for it', 0);
    await other.manager.coordinator.settled();
    ground.pass(1000);
    await committing.manager.upkeep.drive();
    await committing.manager.coordinator.settled();
    assert.equal((await ground.view(id)).participants[0]?.lastError, 'broken off');
  });

  test('found in the log and asked before the commit was confirmed: a late prepare is still feared', {
    timeout: TIMEOUT,
  }, async () => {
    const confirmation = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    let trouble: 'slow' | 'away' | undefined;
    const troubled: Partial<Store> = {
      ...DEAF,
      async transaction(job) {
        if (trouble === 'away') throw new Problem('store-unavailable', 'the store does not answer');
        const result = await ground.store.transaction(job);
        if (trouble !== 'slow') return result;
        written.resolve();
        await confirmation.promise;
        return result;
      },
    };
    const { order, next } = answeredByHand('prepared');
    const committing = ground.start(order, troubled);
    const other = ground.start(willing, DEAF);
    const id = await ground.begin(committing, [URI]);
    await committing.member.ensureAlive();
    trouble = 'slow';
    const answered = committing.manager.transactions.commit(id, 0);
    await written.promise;
    await committing.manager.upkeep.findLost();
    const vote = await next();
    trouble = undefined;
    confirmation.resolve();
    await answered;
    await other.manager.transactions.rollBack(id, 'a client asked for it', 0);
    await other.manager.coordinator.settled();
    // Nobody knows whether the prepare arrived, and even that cannot be noted.
    trouble = 'away';
    vote({ status: 0, detail: 'no answer' });
    await committing.manager.coordinator.settled();
    trouble = undefined;
    await committing.manager.coordinator.drive(id);
    await other.manager.coordinator.drive(id);
    assert.equal(await stateOf(id), 'rolling-back');
    assert.equal((await ground.view(id)).participants[0]?.state, 'asked');
  });
});
