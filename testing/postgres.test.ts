import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { crashAfterReport, isRunning, moduleUrl } from './abandoned.fixtures.ts';
import { eventually } from './eventually.ts';
import { type Cluster, startCluster, withConnection } from './postgres.ts';

describe('a PostgreSQL cluster', () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ settings: { work_mem: '5MB' } });
  });
  after(() => cluster.stop());

  const setting = async (name: string) => {
    const rows = await withConnection(cluster.url('postgres'), (query) =>
      query('SELECT current_setting($1) AS value', [name]),
    );
    return rows[0]?.value;
  };

  test('is durable by default and takes settings', async () => {
    assert.equal(await setting('fsync'), 'on');
    assert.equal(await setting('synchronous_commit'), 'on');
    assert.equal(await setting('work_mem'), '5MB');
  });

  test('sorts text by language, not by bytes', async () => {
    const rows = await withConnection(cluster.url('postgres'), (query) => query(`SELECT 'a' < 'B' AS by_language`));
    assert.equal(rows[0]?.by_language, true);
  });

  test('asks for its password', async () => {
    const url = cluster.url('postgres').replace(/:[^:@]+@/, ':wrong@');
    await assert.rejects(
      withConnection(url, (query) => query('SELECT 1')),
      { code: '28P01' },
    );
  });

  test('creates databases that know nothing of each other', async () => {
    const [one, two] = await Promise.all([cluster.createDatabase(), cluster.createDatabase()]);
    assert.notEqual(one, two);
    await withConnection(one, (query) => query('CREATE TABLE here (id int)'));
    await assert.rejects(
      withConnection(two, (query) => query('SELECT * FROM here')),
      { code: '42P01' },
    );
  });

  for (const mode of ['fast', 'immediate'] as const) {
    test(`keeps its data and its address over a restart (${mode})`, async () => {
      const url = await cluster.createDatabase();
      const started = () => withConnection(url, (query) => query('SELECT pg_postmaster_start_time()::text AS at'));
      await withConnection(url, (query) => query('CREATE TABLE kept AS SELECT 7 AS id'));
      const before = await started();
      await cluster.restart(mode);
      assert.notDeepEqual(await started(), before);
      const rows = await withConnection(url, (query) => query('SELECT id FROM kept'));
      assert.equal(rows[0]?.id, 7);
    });
  }

  test('refuses connections between shutting down and starting up', async () => {
    const url = cluster.url('postgres');
    await cluster.shutDown('immediate');
    await assert.rejects(
      withConnection(url, (query) => query('SELECT 1')),
      { code: 'ECONNREFUSED' },
    );
    await cluster.startUp();
    assert.equal((await withConnection(url, (query) => query('SELECT 1 AS one')))[0]?.one, 1);
    assert.match(cluster.log(), /ready to accept connections/);
  });
});

test('says why a server does not start', async () => {
  await assert.rejects(startCluster({ settings: { shared_buffers: 'plenty' } }), /shared_buffers/);
});

test('no server and no folder outlive a process that was killed outright', async () => {
  const { pid, folder } = await crashAfterReport<{ pid: number; folder: string }>(`
    import { startCluster, withConnection } from ${moduleUrl('postgres.ts')};
    const cluster = await startCluster();
    const [row] = await withConnection(cluster.url('postgres'), (query) => query(\`
      SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int AS pid, current_setting('data_directory') AS folder\`));
    console.log(JSON.stringify(row));
    setInterval(() => {}, 1000);
  `);
  await eventually('the server ends', async () => !(await isRunning(pid)));
  await eventually('the folder goes', () => !existsSync(folder));
});
