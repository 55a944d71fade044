/** What one node does for all goes on when that node is killed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freshDatabase } from '../../../testing/databases.ts';
import { eventually } from '../../../testing/eventually.ts';
import { request } from '../../../testing/http.ts';
import { withConnection } from '../../../testing/postgres.ts';
import { startWaypost, type WaypostProcess } from '../../../testing/waypost.ts';

const TAKEOVER = 10_000;

test('pruning goes on within ten seconds after the node that did it was killed', { timeout: 120_000 }, async () => {
  const { url: database, drop } = await freshDatabase();
  let nodes: WaypostProcess[] = await Promise.all([startWaypost({ database }), startWaypost({ database })]);
  try {
    const pruner = await eventually('someone prunes', () =>
      withConnection(database, async (query) => {
        const [row] = await query<{ process: string }>(
          `SELECT node.process FROM duty JOIN node ON node.id = duty.owner WHERE duty.name = 'prune'`,
        );
        return row?.process;
      }),
    );
    const killed = nodes.find(({ pid }) => pid === Number(pruner));
    const living = nodes.find((node) => node !== killed) as WaypostProcess;
    assert.ok(killed, 'it is one of them');
    killed.kill('SIGKILL');
    await killed.exited;
    nodes = [living];
    const topic = `${living.url}/topics/short`;
    const settings = { 'content-type': 'application/json' };
    const made = await request(topic, { method: 'PUT', headers: settings, body: JSON.stringify({ retention: 1 }) });
    assert.equal(made.status, 201, made.text());
    const { location = '' } = (await request(topic, { method: 'POST', body: 'soon over' })).headers;
    await eventually('the message is pruned', async () => (await request(location)).status !== 200, TAKEOVER);
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await drop();
  }
});
