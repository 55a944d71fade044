/** What must hold of a node's life, whatever the store, the clocks and the other nodes do. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import { type Ground, openGround, type TestNode } from './members.fixtures.ts';
import { listNodes } from './queries.ts';

const LEASE = 6000;
const BEAT = 2000;

forEachEngine('membership', (engine) => {
  let ground: Ground;
  beforeEach(async () => {
    ground = await openGround(engine);
  });
  afterEach(() => ground.close());

  const entered = async (): Promise<Set<string>> => new Set((await ground.store.read(listNodes)).map(({ id }) => id));

  /** Time goes by in small steps; those given say in time that they are alive, and look around. */
  async function live(milliseconds: number, nodes: readonly TestNode[], atEach = async () => {}): Promise<void> {
    for (let gone = 0; gone < milliseconds; gone += 100) {
      ground.pass(100);
      for (const { member } of nodes) {
        if (gone % BEAT === 0) await member.beat();
        if (gone % 500 === 0) await member.watch();
      }
      await atEach();
    }
  }

  async function start(...nodes: readonly TestNode[]): Promise<void> {
    for (const { member } of nodes) await member.beat();
    for (const { member } of nodes) await member.watch();
  }

  test('a node is alive from its first beat on, for less than its lease', async () => {
    const { member } = ground.node();
    assert.equal(member.isAlive, false);
    await member.ensureAlive();
    assert.equal(member.isAlive, true);
    assert.deepEqual(await entered(), new Set([member.id]));
    ground.pass(LEASE - 1);
    assert.equal(member.isAlive, false, 'it stops before others begin');
  });

  test('those who beat in time go on as they are, and know how many they are', async () => {
    const nodes = [ground.node(), ground.node(), ground.node()];
    await start(...nodes);
    const before = nodes.map(({ member }) => member.id);
    await live(30_000, nodes);
    assert.deepEqual(
      nodes.map(({ member }) => member.id),
      before,
    );
    for (const { member, told } of nodes) {
      assert.deepEqual({ ...told, count: member.count }, { lost: 0, gone: 0, count: 3 });
    }
  });

  test('a node that falls silent has stopped when another removes it, soon after its lease', async () => {
    const [silent, watching] = [ground.node(), ground.node()];
    await start(silent, watching);
    const { id } = silent.member;
    let removedAfter: number | undefined;
    let time = 0;
    await live(LEASE + 1000, [watching], async () => {
      time += 100;
      if ((await entered()).has(id)) return;
      removedAfter ??= time;
      assert.equal(silent.member.isAlive, false);
    });
    assert.ok(removedAfter !== undefined && removedAfter >= LEASE && removedAfter <= LEASE + 500, `${removedAfter} ms`);
    assert.equal(watching.told.gone, 1);
    assert.equal(watching.member.count, 1);
  });

  test('who was held for dead starts anew: a new id, told once, and the old one never comes back', async () => {
    const [silent, watching] = [ground.node(), ground.node()];
    await start(silent, watching);
    const { id } = silent.member;
    await live(LEASE + 1000, [watching]);
    assert.equal(silent.told.lost, 0, 'it cannot know yet');
    await silent.member.ensureAlive();
    assert.notEqual(silent.member.id, id);
    assert.equal(silent.told.lost, 1);
    assert.deepEqual(await entered(), new Set([silent.member.id, watching.member.id]));
    await live(10_000, [silent, watching]);
    assert.equal(silent.told.lost, 1);
  });

  test('who could not be heard for long, but was not held for dead, goes on as the same', async () => {
    const node = ground.node();
    await start(node);
    const { id } = node.member;
    node.trouble = 'away';
    ground.pass(60_000);
    await assert.rejects(node.member.ensureAlive(), /away/);
    assert.equal(node.member.isAlive, false);
    node.trouble = undefined;
    await node.member.ensureAlive();
    assert.equal(node.member.isAlive, true);
    assert.equal(node.member.id, id);
    assert.equal(node.told.lost, 0);
  });

  test('after an outage the first that is back gives the others time to come back', async () => {
    const [quick, slow] = [ground.node(), ground.node()];
    await start(quick, slow);
    const { id } = slow.member;
    // Both saw the same lease for long, since nobody could write.
    ground.pass(LEASE + 5000);
    await quick.member.beat();
    await quick.member.watch();
    await live(BEAT, [quick]);
    await slow.member.beat();
    await live(10_000, [quick, slow]);
    assert.equal(slow.member.id, id);
    assert.equal(quick.told.gone, 0);
  });

  test('a step of the clock of the database is nobody’s death', async () => {
    const nodes = [ground.node(), ground.node()];
    await start(...nodes);
    await live(5000, nodes);
    for (const step of [60_000, -3_600_000, 3_600_000]) {
      ground.clock.database += step;
      for (const { member } of nodes) await member.watch();
      await live(10_000, nodes);
    }
    for (const { told } of nodes) assert.deepEqual(told, { lost: 0, gone: 0 });
  });

  test('a node that dies is removed in time also when the clock of the database was set back', async () => {
    const [dying, watching] = [ground.node(), ground.node()];
    await start(dying, watching);
    ground.clock.database -= 3_600_000;
    await live(LEASE + 600, [watching]);
    assert.deepEqual(await entered(), new Set([watching.member.id]));
  });

  test('who leaves is gone at once, others are told, and it does not come back', async () => {
    const [leaving, staying] = [ground.node(), ground.node()];
    await start(leaving, staying);
    await leaving.member.leave();
    assert.equal(leaving.member.isAlive, false);
    await staying.member.watch();
    assert.deepEqual(staying.told, { lost: 0, gone: 1 });
    assert.equal(staying.member.count, 1);
    await assert.rejects(leaving.member.ensureAlive(), /has left/);
    assert.deepEqual(await entered(), new Set([staying.member.id]));
  });

  test('a beat under way when the node leaves does not enter it again', async () => {
    const { member } = ground.node();
    await member.beat();
    ground.pass(LEASE);
    const beating = member.beat();
    await member.leave();
    await beating;
    assert.equal(member.isAlive, false);
    assert.deepEqual(await entered(), new Set());
  });

  test('one writes, others remove: it is either the same node still or told that it is not', async () => {
    for (let round = 0; round < 3; round++) {
      const late = ground.node();
      const others = Array.from({ length: 7 }, () => ground.node());
      await start(late, ...others);
      const { id } = late.member;
      await live(LEASE - 100, others);
      ground.pass(500);
      await Promise.all([...others.map(({ member }) => member.watch()), late.member.beat()]);
      const isThere = (await entered()).has(id);
      assert.equal(late.member.id === id, isThere);
      assert.equal(late.told.lost, isThere ? 0 : 1);
      for (const { member } of [late, ...others]) await member.leave();
    }
  });

  test('an entry that was never confirmed holds nothing and goes away', async () => {
    const options = { place: () => ({ name: 'here', process: 7 }), isOtherRunning: (other: number) => other !== 7 };
    const node = ground.node(options);
    node.trouble = 'unconfirmed';
    await assert.rejects(node.member.beat(), /lost/);
    assert.equal(node.member.isAlive, false);
    node.trouble = undefined;
    await node.member.beat();
    assert.deepEqual(await entered(), new Set([node.member.id]));
  });

  test('a lease that was renewed without a confirmation ends no earlier for others than for the node', async () => {
    const [node, watching] = [ground.node(), ground.node()];
    await start(node, watching);
    const { id } = node.member;
    ground.pass(BEAT);
    node.trouble = 'unconfirmed';
    await assert.rejects(node.member.beat(), /lost/);
    node.trouble = undefined;
    ground.pass(LEASE - BEAT - 400);
    assert.equal(node.member.isAlive, false, 'it counts from what it knows');
    await node.member.beat();
    assert.equal(node.member.id, id);
  });

  test('whoever comes after a killed process at the same place does not wait for its lease', async () => {
    const place = (process: number) => () => ({ name: 'machine 8080', process });
    const killed = ground.node({ place: place(100) });
    const elsewhere = ground.node();
    await start(killed, elsewhere);
    const successor = ground.node({ place: place(101), isOtherRunning: (other) => other !== 100 });
    await successor.member.beat();
    assert.deepEqual(await entered(), new Set([elsewhere.member.id, successor.member.id]));
  });

  test('one that is still being stopped at that place is left alone', async () => {
    const place = (process: number) => () => ({ name: 'machine 8080', process });
    const stopping = ground.node({ place: place(100) });
    await start(stopping);
    const successor = ground.node({ place: place(101), isOtherRunning: (other) => other === 100 });
    await successor.member.beat();
    assert.deepEqual(await entered(), new Set([stopping.member.id, successor.member.id]));
  });

  test('who is alone with its store removes all that are left from before', async () => {
    await start(ground.node(), ground.node());
    const alone = ground.node({ isAlone: true });
    await alone.member.beat();
    assert.deepEqual(await entered(), new Set([alone.member.id]));
    ground.pass(60_000);
    await alone.member.watch();
    await alone.member.ensureAlive();
    assert.equal(alone.told.lost, 0);
  });
});
