/** A duty for one node at a time: who runs it, and who runs it next. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import { type Ground, openGround, type TestNode } from '../nodes/members.fixtures.ts';
import type { Duty } from './duties.ts';
import { createOwnership } from './ownership.ts';

const DEAD_AFTER = 6000;

forEachEngine('a duty for one node', (engine) => {
  let ground: Ground;
  let runs: TestNode[];
  beforeEach(async () => {
    ground = await openGround(engine);
    runs = [];
  });
  afterEach(() => ground.close());

  function dutyOf(node: TestNode): Duty {
    return createOwnership(ground.store, node.member)('prune', async () => {
      runs.push(node);
      return 0;
    });
  }

  async function whoRuns(duties: readonly Duty[]): Promise<TestNode[]> {
    runs = [];
    for (const duty of duties) await duty();
    return runs;
  }

  async function silence(milliseconds: number, ...living: readonly TestNode[]): Promise<void> {
    for (let gone = 0; gone < milliseconds; gone += 500) {
      ground.pass(500);
      for (const { member } of living) {
        await member.beat();
        await member.watch();
      }
    }
  }

  test('of many that want it at once, one gets it and keeps it', async () => {
    const nodes = Array.from({ length: 16 }, () => ground.node());
    const duties = nodes.map(dutyOf);
    await Promise.all(duties.map((duty) => duty()));
    assert.equal(runs.length, 1);
    const [owner] = runs as [TestNode];
    await silence(2 * DEAD_AFTER, ...nodes);
    assert.deepEqual(await whoRuns(duties), [owner]);
  });

  test('it is free as soon as its owner is held for dead, and not before', async () => {
    const [owner, other] = [ground.node(), ground.node()];
    const duties = [dutyOf(owner), dutyOf(other)] as const;
    assert.deepEqual(await whoRuns(duties), [owner]);
    await silence(DEAD_AFTER - 500, other);
    assert.deepEqual(await whoRuns([duties[1]]), []);
    await silence(1000, other);
    assert.equal(other.told.gone, 1);
    assert.deepEqual(await whoRuns([duties[1]]), [other]);
    // The one that was held for dead comes back, and finds it taken.
    assert.deepEqual(await whoRuns(duties), [other]);
  });

  test('it is free as soon as its owner has left', async () => {
    const [owner, other] = [ground.node(), ground.node()];
    const duties = [dutyOf(owner), dutyOf(other)] as const;
    assert.deepEqual(await whoRuns(duties), [owner]);
    await owner.member.leave();
    assert.deepEqual(await whoRuns([duties[1]]), [other]);
  });

  test('an owner that cannot be heard does not run it, and goes on when it was not held for dead', async () => {
    const owner = ground.node();
    const duty = dutyOf(owner);
    assert.deepEqual(await whoRuns([duty]), [owner]);
    owner.trouble = 'away';
    ground.pass(DEAD_AFTER);
    await assert.rejects(whoRuns([duty]), /away/);
    assert.deepEqual(runs, []);
    owner.trouble = undefined;
    assert.deepEqual(await whoRuns([duty]), [owner]);
  });
});
