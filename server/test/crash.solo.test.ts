/**
 * What was answered stays, whenever the service is killed. WAYPOST_CRASH_SEED repeats the moments of the kills (though not
 * what the clients did at them), WAYPOST_CRASH_KILLS sets their number.
 */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { crash } from '../../testing/crash/crash.ts';
import { type CrashNode, createNode } from '../../testing/crash/node.ts';
import { chooseSeed } from '../../testing/crash/random.ts';
import { temporaryFolder } from '../../testing/folders.ts';
import { type Cluster, startCluster } from '../../testing/postgres.ts';

const KILLS = Number(process.env.WAYPOST_CRASH_KILLS ?? 50);
const SHOWN = 20;

let cluster: Cluster;

before(async () => {
  // Durable, other than the cluster of the ordinary tests.
  cluster = await startCluster();
});

after(() => cluster.stop());

async function survives(context: TestContext, nodes: readonly CrashNode[], kills: number): Promise<void> {
  const seed = chooseSeed();
  // At once, so that it is known even when the test never ends.
  console.log(`crash test: WAYPOST_CRASH_SEED=${seed}`);
  const { faults, summary, ...rest } = await crash({ nodes, kills, seed });
  for (const node of nodes) await node.kill();
  context.diagnostic(`seed ${seed} ${JSON.stringify({ ...rest, ...summary })}`);
  assert.equal(faults.length, 0, `seed ${seed}: ${faults.length} faults\n${faults.slice(0, SHOWN).join('\n')}`);
  // A test whose load never met a kill would prove nothing.
  for (const count of ['answered', 'unanswered', 'retried', 'received', 'cutReceives'] as const) {
    assert.ok(summary[count] > 0, `seed ${seed}: no ${count} at all`);
  }
}

test('SQLite: nothing answered is lost and nothing comes twice', { timeout: 180_000 }, async (context) => {
  await survives(context, [await createNode({ data: temporaryFolder() })], KILLS);
});

test('PostgreSQL: nothing answered is lost and nothing comes twice', { timeout: 180_000 }, async (context) => {
  await survives(context, [await createNode({ database: await cluster.createDatabase() })], KILLS);
});

test('PostgreSQL: two nodes, of which any one is killed', { timeout: 180_000 }, async (context) => {
  const database = await cluster.createDatabase();
  await survives(context, [await createNode({ database }), await createNode({ database })], Math.ceil(KILLS / 2));
});
