/** An operator's impatience ends pauses; it neither breaks off a try nor hides that nothing helps. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import { eventually } from '../../../testing/eventually.ts';
import type { Reply } from '../../src/transactions/protocol.ts';
import { answeredByHand, type ManagerGround, type ManagerNode, openManagerGround } from './nodes.ts';

const URI = 'http://a.example/state';
const OTHER = 'http://b.example/state';
const FAILED: Reply = { status: 503, detail: 'not now' };
const DONE: Reply = { status: 200, state: 'committed' };
/** Only used up when the test fails. */
const TIMEOUT = 10_000;

forEachEngine('retry-now', (engine) => {
  let ground: ManagerGround;
  beforeEach(async () => {
    ground = await openManagerGround(engine);
  });
  afterEach(() => ground.close());

  const openNotices = async ({ operator }: ManagerNode): Promise<string[]> =>
    (await operator.list({ limit: 10, key: undefined, backwards: false }, false)).map(({ kind }) => kind);

  const retry = async ({ manager }: ManagerNode, id: number, times: number): Promise<void> => {
    for (let n = 0; n < times; n++) await manager.transactions.retryNow(id);
  };

  async function isNoted(id: number, tries: number): Promise<void> {
    await eventually(`${tries} tries are noted`, async () =>
      (await ground.view(id)).participants.some((participant) => participant.tries === tries),
    );
  }

  test('called again and again during every try: a person is told after the third all the same', {
    timeout: TIMEOUT,
  }, async () => {
    const { order, next } = answeredByHand('committed');
    const node = ground.start(order);
    const id = await ground.begin(node, [URI]);
    await node.manager.transactions.commit(id, 0);
    for (const tries of [1, 2, 3]) {
      const answer = await next();
      await retry(node, id, 5);
      answer(FAILED);
      await isNoted(id, tries);
      await retry(node, id, 1);
    }
    assert.deepEqual(await openNotices(node), ['transaction.stuck']);
    (await next())(DONE);
    await node.manager.coordinator.settled();
    assert.equal((await ground.view(id)).transaction.state, 'committed');
  });

  test('on another node: the try under way on a living one is let finish, and is the only one', {
    timeout: TIMEOUT,
  }, async () => {
    const { order, next } = answeredByHand('committed');
    const owner = ground.start(order);
    const other = ground.start(async () => assert.fail('it is not the owner'));
    const id = await ground.begin(owner, [URI]);
    await owner.manager.transactions.commit(id, 0);
    const answer = await next();
    const before = (await ground.view(id)).transaction;
    await retry(other, id, 5);
    await other.manager.coordinator.settled();
    const { owner: name, epoch } = (await ground.view(id)).transaction;
    assert.deepEqual({ name, epoch }, { name: owner.member.id, epoch: before.epoch });
    answer(DONE);
    await owner.manager.coordinator.settled();
    assert.equal((await ground.view(id)).transaction.state, 'committed');
  });

  test('on another node, during a pause: the owner asks again without waiting, also if it was not told', {
    timeout: TIMEOUT,
  }, async () => {
    const { order, next } = answeredByHand('committed');
    const owner = ground.start(order, { listen: () => {} });
    const other = ground.start(async () => assert.fail('it is not the owner'));
    const id = await ground.begin(owner, [URI]);
    await owner.manager.transactions.commit(id, 0);
    (await next())(FAILED);
    await owner.manager.coordinator.settled();
    await retry(other, id, 1);
    await owner.manager.upkeep.drive();
    (await next())(DONE);
    await owner.manager.coordinator.settled();
    assert.equal((await ground.view(id)).transaction.state, 'committed');
  });

  test('what a lost node had decided is taken by whoever is asked to hurry it', { timeout: TIMEOUT }, async () => {
    const { order, next } = answeredByHand('committed');
    const lost = ground.start(order);
    const other = ground.start(async () => DONE);
    const id = await ground.begin(lost, [URI]);
    await lost.manager.transactions.commit(id, 0);
    const answer = await next();
    await lost.member.leave();
    await retry(other, id, 1);
    await other.manager.coordinator.settled();
    assert.equal((await ground.view(id)).transaction.state, 'committed');
    answer(DONE);
    await lost.manager.coordinator.settled();
  });

  test('another participant is resolved by hand during the third try: a person is told of this one', {
    timeout: TIMEOUT,
  }, async () => {
    const { order, next } = answeredByHand('committed');
    const node = ground.start(order);
    const other = ground.start(order);
    const id = await ground.begin(node, [URI, OTHER]);
    await node.manager.transactions.commit(id, 0);
    for (const tries of [1, 2]) {
      for (const answer of [await next(), await next()]) answer(FAILED);
      await isNoted(id, tries);
      await retry(node, id, 1);
    }
    const [first, second] = [await next(), await next()];
    const resolved = (await ground.view(id)).participants[1]?.id ?? assert.fail('there are two');
    const resolving = other.manager.transactions.resolve(id, resolved, 'committed', 'ada', 'by telephone');
    // The other node has taken it and asks, too.
    const third = await next();
    first(FAILED);
    second(FAILED);
    await node.manager.coordinator.settled();
    third(DONE);
    await resolving;
    assert.deepEqual(await openNotices(node), ['transaction.stuck']);
    assert.equal((await ground.view(id)).transaction.state, 'committed');
  });
});
