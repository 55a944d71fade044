/**
 * What was answered stays, whenever the service is killed. WAYPOST_CRASH_SEED repeats the moments of the kills (though not
 * what the clients did at them), WAYPOST_CRASH_KILLS sets their number.
 */
import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { crash } from '../../testing/crash/crash.ts';
import { type CrashNode, createNode, type Data, killFirstStarts } from '../../testing/crash/node.ts';
import { chooseSeed, seededRandom } from '../../testing/crash/random.ts';
import { temporaryFolder } from '../../testing/folders.ts';
import { type Cluster, startCluster } from '../../testing/postgres.ts';

const KILLS = Number(process.env.WAYPOST_CRASH_KILLS ?? 50);
const SHOWN = 20;
/** Counts that a run may leave at nothing by chance. */
const MAY_BE_NONE = new Set(['receivedUnanswered', 'taken', 'unsure']);

let cluster: Cluster;

before(async () => {
  // Durable, other than the cluster of the ordinary tests.
  cluster = await startCluster();
});

after(() => cluster.stop());

async function survives(context: TestContext, data: Data, nodes: number, kills: number): Promise<void> {
  const seed = chooseSeed();
  // At once, so that it is known even when the test never ends.
  console.log(`crash test: WAYPOST_CRASH_SEED=${seed}`);
  const random = seededRandom(seed);
  await killFirstStarts(
    data,
    Array.from({ length: 4 }, () => random.below(400)),
  );
  const running: CrashNode[] = [];
  for (let n = 0; n < nodes; n++) running.push(await createNode(data));
  const { faults, summary, ...rest } = await crash({ nodes: running, kills, seed }).finally(() =>
    Promise.all(running.map((node) => node.kill())),
  );
  context.diagnostic(`seed ${seed} ${JSON.stringify({ ...rest, ...summary })}`);
  assert.equal(faults.length, 0, `seed ${seed}: ${faults.length} faults\n${faults.slice(0, SHOWN).join('\n')}`);
  // A test whose load never met a kill would prove nothing.
  for (const [name, count] of Object.entries(summary)) {
    assert.ok(count > 0 || MAY_BE_NONE.has(name), `seed ${seed}: no ${name} at all`);
  }
}

test('SQLite: nothing answered is lost and nothing comes twice', { timeout: 600_000 }, async (context) => {
  await survives(context, { data: temporaryFolder() }, 1, KILLS);
});

test('PostgreSQL: nothing answered is lost and nothing comes twice', { timeout: 600_000 }, async (context) => {
  await survives(context, { database: await cluster.createDatabase() }, 1, KILLS);
});

test('PostgreSQL: two nodes, of which any one is killed', { timeout: 600_000 }, async (context) => {
  await survives(context, { database: await cluster.createDatabase() }, 2, Math.ceil(KILLS / 2));
});
