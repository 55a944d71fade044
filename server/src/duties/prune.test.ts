/** Pruning by one that should not be doing it any more: it forgets nothing that its successor would keep. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import { MAX_CONSUMED_KEPT } from '../messaging/settings.ts';
import { type Ground, openGround } from '../nodes/members.fixtures.ts';
import { createForgetting } from '../store/postgres/forgetting.ts';
import type { Duty } from './duties.ts';
import { createPruner } from './prune.ts';

const DEST = 7;
const PIECE = 500;
const BEYOND = PIECE + 100;
const DAY = 86_400_000;

forEachEngine('pruning', (engine) => {
  let ground: Ground;
  beforeEach(async () => {
    ground = await openGround(engine);
    await consume(MAX_CONSUMED_KEPT + BEYOND);
  });
  afterEach(() => ground.close());

  const pruner = (): Duty => createPruner(ground.store, DAY);

  /** So many consumed messages, all of them within their retention. */
  async function consume(count: number): Promise<void> {
    const { store, clock } = ground;
    const [column, value, body] = engine.name === 'postgresql' ? [', durable', ', true', `''`] : ['', '', `x''`];
    const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`;
    await store.transaction(async (tx) => {
      await tx.run(`INSERT INTO message (id, dest, posted, headers, body${column})
        ${numbers} SELECT 2 * n, ${DEST}, 1, '[]', ${body}${value} FROM numbers`);
      await tx.run(`INSERT INTO delivery (id, dest, rank, ord, state, due, tries, token, size${column})
        ${numbers} SELECT 2 * n, ${DEST}, 5, n, 5, ${clock.database + DAY} + n, 1, 1, 0${value} FROM numbers`);
    });
  }

  /** How many are left, and the first of them. */
  async function left(): Promise<{ count: number; first: number | null }> {
    const text = 'SELECT count(*) AS count, min(ord) AS first FROM delivery';
    const row = await ground.store.read((tx) => tx.get<{ count: number; first: number | null }>(text));
    return row === undefined ? assert.fail('a count is always there') : { ...row };
  }

  test('several at once leave what one would leave', async () => {
    const pruners = Array.from({ length: 4 }, pruner);
    await Promise.all(
      pruners.map(async (prune) => {
        while ((await prune()) === 0);
      }),
    );
    // Some may have passed over what another held; by now nobody holds anything.
    while ((await pruner()()) === 0);
    assert.deepEqual(await left(), { count: MAX_CONSUMED_KEPT, first: BEYOND + 1 });
  });

  // On SQLite the hot thread forgets: see store/sqlite/hot/forgetting.test.ts.
  if (engine.name !== 'postgresql') return;

  test('one that stood still between two pieces does not go by what it knew', async () => {
    const { store, clock } = ground;
    const forget = createForgetting(() => clock.monotonic);
    const piece = { after: 0, now: clock.database, kept: MAX_CONSUMED_KEPT, rememberIds: DAY };
    const step = () => store.transaction((tx) => forget(tx, piece));
    assert.equal((await step()).full, true, 'there is more to do at once');
    assert.deepEqual(await left(), { count: MAX_CONSUMED_KEPT + BEYOND - PIECE, first: PIECE + 1 });
    // Meanwhile the newer ones went another way, and what was too much is so no longer.
    await store.transaction((tx) => tx.run(`DELETE FROM delivery WHERE ord > ${BEYOND}`));
    ground.pass(60_000);
    await step();
    assert.deepEqual(await left(), { count: BEYOND - PIECE, first: PIECE + 1 });
  });
});
