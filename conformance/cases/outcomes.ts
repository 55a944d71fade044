import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { expectProblem } from '../expect.ts';
import { createParticipants, type Participant } from '../participants.ts';
import { createManager, type Transaction } from '../transactions.ts';
import type { World } from '../world.ts';

/** How a commit can go (B4 to B6), with participants of other services. */
export function outcomes(world: World): void {
  const manager = createManager(world);
  const remote = createParticipants();
  after(() => remote.close());

  /** Two that take part in a transaction which has so many seconds. */
  function cast(timeout = 30): Promise<{ transaction: Transaction; a: Participant; b: Participant }> {
    return world.inTime(timeout, async (seconds) => {
      const [a, b] = [await remote.participant('a'), await remote.participant('b')];
      const transaction = await manager.begin(`${Math.round(seconds * 1000)}`);
      (await manager.register(transaction, [a.uri, b.uri])).expect(201);
      return { transaction, a, b };
    });
  }
  const states = (...participants: Participant[]) => participants.map(({ state }) => state);

  async function rolledBack(transaction: Transaction): Promise<Record<string, unknown>> {
    const problem = expectProblem(await manager.commit(transaction), 409);
    const { state, reason } = problem.transaction as { state: string; reason: string };
    assert.match(state, /^roll/);
    assert.ok(reason);
    return problem.transaction as Record<string, unknown>;
  }

  it('B5 both prepared: both commit, each order sent once', async () => {
    const { transaction, a, b } = await cast();
    assert.equal((await manager.commit(transaction)).expect(200).xml().attributes.state, 'committed');
    assert.deepEqual(states(a, b), ['committed', 'committed']);
    assert.deepEqual(
      [a.seen, b.seen],
      [
        ['prepared', 'committed'],
        ['prepared', 'committed'],
      ],
    );
  });

  it('B5 one is read-only: it drops out of phase two', async () => {
    const { transaction, a, b } = await cast();
    a.trick('prepared', [{ status: 200, state: 'read-only' }]);
    (await manager.commit(transaction)).expect(200);
    assert.deepEqual(a.seen, ['prepared']);
    assert.equal(b.state, 'committed');
    const shown = (await manager.look(transaction)).children.filter(({ name }) => name === 'participant');
    assert.deepEqual(shown.map(({ attributes }) => attributes.state).sort(), ['committed', 'read-only']);
  });

  for (const status of [409, 404, 410]) {
    it(`B5 one refuses with ${status}: the other is rolled back`, async () => {
      const { transaction, a, b } = await cast();
      b.trick('prepared', [status], true);
      const told = await rolledBack(transaction);
      assert.equal((told.participant as { uri: string }).uri, b.uri);
      assert.equal(await manager.ended(transaction), 'rolled-back');
      assert.equal(a.state, 'rolled-back');
      assert.ok(!b.seen.includes('committed'));
    });
  }

  it('B5 one asks to be asked again (202, 425, 500): it is, inside the timeout', async () => {
    const { transaction, a, b } = await cast();
    b.trick('prepared', [202, 425, 500]);
    (await manager.commit(transaction)).expect(200);
    assert.deepEqual(states(a, b), ['committed', 'committed']);
    assert.equal(b.seen.filter((each) => each === 'prepared').length, 4);
  });

  it('B5 one answers 412 and a look finds it prepared: that is a yes', async () => {
    const { transaction, a, b } = await cast();
    b.state = 'prepared';
    b.trick('prepared', [412]);
    (await manager.commit(transaction)).expect(200);
    assert.deepEqual(states(a, b), ['committed', 'committed']);
  });

  it('B5 one is unreachable in phase one: rolled back when the timeout is over', async () => {
    const { transaction, a, b } = await cast(1.5);
    b.trick('prepared', ['lost'], true);
    await rolledBack(transaction);
    await world.until('the other is rolled back', async () => a.state === 'rolled-back');
    assert.ok(b.seen.filter((each) => each === 'prepared').length > 1, 'it was tried more than once');
    assert.ok(!a.seen.includes('committed') && !b.seen.includes('committed'));
  });

  it('B5 one is slow beyond the timeout: rolled back, and told so', async () => {
    const { transaction, a, b } = await cast(1);
    b.trick('prepared', ['silent']);
    await rolledBack(transaction);
    await world.until('both are rolled back', async () => states(a, b).every((state) => state === 'rolled-back'));
  });

  it('B6 one is unreachable in phase two, then back: committed', async () => {
    const { transaction, a, b } = await cast();
    b.trick('committed', ['lost'], true);
    const answer = (await manager.commit(transaction, { prefer: 'wait=1' })).expect(202);
    assert.equal(answer.headers['preference-applied'], 'wait=1');
    assert.ok(answer.headers['retry-after']);
    assert.equal(world.client.store(answer.headers.location ?? ''), transaction.address);
    await world.until('it is decided', async () => b.seen.includes('committed'));
    assert.equal(await manager.stateOf(transaction), 'committing');
    b.release();
    assert.equal(await manager.ended(transaction), 'committed');
    assert.deepEqual(states(a, b), ['committed', 'committed']);
  });

  it('B5 the answer to prepare is lost: asked again, committed', async () => {
    const { transaction, a, b } = await cast();
    b.trick('prepared', ['answer lost']);
    (await manager.commit(transaction)).expect(200);
    assert.deepEqual(states(a, b), ['committed', 'committed']);
  });

  it('B6 the answer to commit is lost: sent again, committed', async () => {
    const { transaction, a, b } = await cast();
    b.trick('committed', ['answer lost']);
    (await manager.commit(transaction)).expect(200);
    assert.deepEqual(states(a, b), ['committed', 'committed']);
  });

  it('B6 410 in phase two counts as done', async () => {
    const { transaction, a, b } = await cast();
    b.trick('committed', [410], true);
    (await manager.commit(transaction)).expect(200);
    assert.equal(a.state, 'committed');
  });

  it('B6 404 in phase two of a rollback counts as done', async () => {
    const { transaction, a } = await cast();
    a.trick('rolled-back', [404], true);
    (await manager.end(transaction, 'rolled-back')).expect(200);
  });

  it('B5 one had rolled back by itself before prepare: everything is rolled back', async () => {
    const { transaction, a, b } = await cast();
    b.state = 'rolled-back';
    await rolledBack(transaction);
    assert.equal(await manager.ended(transaction), 'rolled-back');
    assert.deepEqual(states(a, b), ['rolled-back', 'rolled-back']);
  });

  it('B6 one rolled back by itself after prepare: heuristic-mixed, and the decision stays', async () => {
    const { transaction, a, b } = await cast();
    b.trick('prepared', [{ status: 200, state: 'prepared' }]);
    b.state = 'rolled-back';
    const problem = expectProblem(await manager.commit(transaction), 409);
    assert.equal((problem.transaction as { state: string }).state, 'heuristic-mixed');
    assert.equal(a.state, 'committed');
    assert.equal(await manager.stateOf(transaction), 'heuristic-mixed');
    // The same request again gets the same answer.
    const again = expectProblem(await manager.commit(transaction), 409);
    assert.deepEqual(again.transaction, problem.transaction);
  });

  it('B6 all rolled back by themselves after prepare: heuristic-rollback', async () => {
    const { transaction, a, b } = await cast();
    for (const each of [a, b]) {
      each.trick('prepared', [200]);
      each.state = 'rolled-back';
    }
    expectProblem(await manager.commit(transaction), 409);
    assert.equal(await manager.stateOf(transaction), 'heuristic-rollback');
  });

  it('B6 one committed by itself and another refuses: the outcome is heuristic', async () => {
    const { transaction, a, b } = await cast();
    a.trick('prepared', [{ status: 200, state: 'committed' }]);
    a.state = 'committed';
    b.trick('prepared', [409], true);
    expectProblem(await manager.commit(transaction), 409);
    assert.equal(await manager.ended(transaction), 'heuristic-commit');
  });

  it('B4 a rollback is asked for: everyone is told, none is prepared', async () => {
    const { transaction, a, b } = await cast();
    assert.equal((await manager.end(transaction, 'rolled-back')).expect(200).xml().attributes.state, 'rolled-back');
    assert.deepEqual([a.seen, b.seen], [['rolled-back'], ['rolled-back']]);
    (await manager.end(transaction, 'rolled-back')).expect(200);
    expectProblem(await manager.commit(transaction), 409);
  });

  it('B4 a rollback during prepare wins over a commit that waits', async () => {
    const { transaction, a, b } = await cast();
    b.trick('prepared', ['silent']);
    const commit = manager.commit(transaction);
    await world.until('it is preparing', async () => b.seen.length > 0);
    const rollback = manager.end(transaction, 'rolled-back', { prefer: 'wait=1' });
    expectProblem(await commit, 409);
    (await rollback).expect(200, 202);
    await world.until('both are rolled back', async () => states(a, b).every((state) => state === 'rolled-back'));
    assert.ok(!a.seen.includes('committed') && !b.seen.includes('committed'));
  });

  it('B2 the timeout is over before the commit: rolled back by itself', async () => {
    const { transaction, a, b } = await cast(0.3);
    assert.equal(await manager.ended(transaction), 'rolled-back');
    assert.deepEqual(states(a, b), ['rolled-back', 'rolled-back']);
    expectProblem(await manager.commit(transaction), 409);
  });

  it('B4 committed twice, one after the other and at once: the same answer, each order once', async () => {
    const { transaction, a, b } = await cast();
    const answers = await Promise.all([1, 2, 3, 4].map(() => manager.commit(transaction)));
    for (const answer of [...answers, await manager.commit(transaction)]) {
      assert.equal(answer.expect(200).xml().attributes.state, 'committed');
    }
    assert.deepEqual(
      [a.seen, b.seen],
      [
        ['prepared', 'committed'],
        ['prepared', 'committed'],
      ],
    );
    expectProblem(await manager.end(transaction, 'rolled-back'), 409);
  });

  it('B4 a commit racing a rollback: one wins, the other gets 409, and all agree', async () => {
    for (let i = 0; i < 8; i++) {
      const { transaction, a, b } = await cast();
      const [commit, rollback] = await Promise.all([
        manager.commit(transaction),
        manager.end(transaction, 'rolled-back'),
      ]);
      assert.deepEqual([commit.expect(200, 409).status, rollback.expect(200, 409).status].sort(), [200, 409]);
      const outcome = await manager.ended(transaction);
      assert.equal(outcome, commit.status === 200 ? 'committed' : 'rolled-back');
      assert.deepEqual(states(a, b), [outcome, outcome]);
    }
  });

  it('B3 registering while the commit is under way is 412', async () => {
    const { transaction, b } = await cast();
    const late = await remote.participant('late');
    b.trick('prepared', ['silent']);
    const commit = manager.commit(transaction);
    await world.until('it is preparing', async () => b.seen.length > 0);
    expectProblem(await manager.register(transaction, [late.uri]), 412);
    expectProblem(await manager.link(transaction, `<${late.uri}>; rel="late"`), 412);
    b.release();
    (await commit).expect(200);
    expectProblem(await manager.register(transaction, [late.uri]), 410);
    assert.deepEqual(late.seen, []);
  });

  it('B4 no participants: 409, and it stays uncommitted', async () => {
    const transaction = await manager.begin();
    expectProblem(await manager.commit(transaction), 409);
    assert.equal(await manager.stateOf(transaction), 'uncommitted');
    const late = await remote.participant('late');
    (await manager.register(transaction, [late.uri])).expect(201);
    (await manager.commit(transaction)).expect(200);
    assert.equal(late.state, 'committed');
  });

  it('B5 participants are asked side by side', async () => {
    const { transaction, a, b } = await cast();
    a.trick('prepared', ['silent']);
    b.trick('prepared', ['silent']);
    const commit = manager.commit(transaction);
    // Neither has answered, and both have been asked.
    await world.until('both are asked', async () => a.seen.length === 1 && b.seen.length === 1);
    a.release();
    b.release();
    (await commit).expect(200);
  });
}
