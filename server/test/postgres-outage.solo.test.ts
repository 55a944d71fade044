/** PostgreSQL goes away under traffic and comes back: honest answers meanwhile, everything as before afterwards. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../testing/eventually.ts';
import { type Answer, request } from '../../testing/http.ts';
import { type Cluster, startCluster, withConnection } from '../../testing/postgres.ts';
import { startWaypost, type WaypostProcess } from '../../testing/waypost.ts';
import { startTraffic } from './traffic.fixtures.ts';

/** Long enough for a machine that is busy, short enough that nobody takes it for a hang. */
const FEW_SECONDS = 15_000;

describe('an outage of PostgreSQL', () => {
  let cluster: Cluster;
  let url: string;
  let waypost: WaypostProcess;
  before(async () => {
    cluster = await startCluster();
    url = await cluster.createDatabase();
    waypost = await startWaypost({ database: url });
  });
  after(async () => {
    await waypost.stop();
    await cluster.stop();
  });

  const OUTAGES: Record<string, () => Promise<void>> = {
    'a fast restart': () => cluster.restart('fast'),
    'a crash and recovery': () => cluster.restart('immediate'),
    'being away for seconds': async () => {
      await cluster.shutDown('fast');
      await isSaidToBeAway();
      // Long enough that every kind of request meets it, not only those in flight.
      await pause(3000);
      await cluster.startUp();
    },
    'connections cut by the administrator': () =>
      withConnection(cluster.url('postgres'), async (query) => {
        await query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'waypost'`);
      }),
  };

  for (const [name, outage] of Object.entries(OUTAGES)) {
    test(`${name}: nothing lost, nothing twice, nobody left hanging`, async () => {
      const pid = waypost.pid;
      const traffic = await startTraffic(waypost, { posters: 16, receivers: 4 });
      await traffic.flows();
      await outage();
      await eventually('the status is good again', async () => (await request(`${waypost.url}/status`)).status === 200);
      await traffic.flows();
      const { posted, received, unknown, answers } = await traffic.stop();

      for (const { answer, milliseconds } of answers) {
        assert.ok(milliseconds < FEW_SECONDS, `an answer took ${Math.round(milliseconds)} ms`);
        isHonest(answer);
      }
      assert.equal(new Set(received).size, received.length, 'a message came twice');
      const seen = new Set(received);
      // A receive that was answered 503 may have taken its message; such a message is still there to be read.
      const missing = [...posted].filter(([body]) => !seen.has(body));
      for (const [, location] of missing)
        assert.equal((await request(location)).headers['message-state'], 'acknowledged');
      assert.ok(missing.length <= unknown.receives, `${missing.length} messages are missing`);
      const surplus = received.filter((body) => !posted.has(body));
      for (const body of surplus) assert.ok(unknown.posts.has(body), `${body} was never posted`);
      assert.equal(waypost.pid, pid);
      process.kill(pid, 0);
    });
  }

  test('who waits is never told that there is nothing while nobody can know', async () => {
    for (const path of ['/queues/waited', '/topics/waited']) await request(waypost.url + path, { method: 'PUT' });
    const next = (await request(`${waypost.url}/topics/waited`)).link('next');
    const queue = `${waypost.url}/queues/waited`;
    const ways: [method: string, target: string][] = [
      ['POST', `${queue}/receiving`],
      ['GET', `${queue}/receiving`],
      ['POST', `${queue}/poller`],
      ['POST', `${queue}/poller?max=5`],
      ['GET', next],
    ];
    const waits = (fields: Record<string, string>) =>
      ways.map(([method, target]) => request(target, { method, headers: fields }));
    const short = [...waits({ 'Accept-Wait': '8' }), ...waits({ Prefer: 'wait=8' })];
    const long = request(`${queue}/receiving`, { method: 'POST', headers: { 'Accept-Wait': '50' } });
    // Nothing tells from outside that they have looked and sleep. Those that do not yet meet the outage sooner.
    await pause(1000);
    await cluster.shutDown('fast');
    for (const answer of await Promise.all(short)) {
      assert.equal(answer.status, 503, answer.text());
      isHonest(answer);
    }
    await cluster.startUp();
    await eventually('the status is good again', async () => (await request(`${waypost.url}/status`)).status === 200);
    await eventually(
      'it takes posts again',
      async () => (await request(queue, { method: 'POST', body: 'x' })).status === 204,
    );
    // Whose wait outlasts the outage gets what comes then, unless it looked while the database was about to be back.
    const outlasting = await long;
    assert.ok(outlasting.status === 200 || outlasting.status === 503, `${outlasting.status}`);
    isHonest(outlasting);
    for (const answer of await Promise.all(waits({ 'Accept-Wait': '0.1' }))) assert.ok(answer.status < 300);
  });

  test('an event stream that met the outage ends or goes on, and takes the service not with it', async () => {
    await request(`${waypost.url}/topics/stream`, { method: 'PUT' });
    const next = (await request(`${waypost.url}/topics/stream`)).link('next');
    const streams = Array.from({ length: 4 }, () => {
      const end = new AbortController();
      const ended = request(next, { headers: { Accept: 'text/event-stream' }, signal: end.signal }).catch(() => {});
      return { end, ended };
    });
    // Posts keep the streams looking at the database, so that they meet its end in the middle of a look.
    let posting = true;
    const posters = Array.from({ length: 4 }, async () => {
      while (posting) isHonest(await request(`${waypost.url}/topics/stream`, { method: 'POST', body: 'x' }));
    });
    const { location = '' } = (await request(`${waypost.url}/topics/stream`, { method: 'POST', body: 'x' })).headers;
    assert.equal((await request(location)).status, 200);
    for (let round = 0; round < 3; round += 1) {
      await cluster.shutDown('immediate');
      await isSaidToBeAway();
      await cluster.startUp();
      await eventually('the status is good again', async () => (await request(`${waypost.url}/status`)).status === 200);
    }
    posting = false;
    await Promise.all(posters);
    for (const { end } of streams) end.abort();
    await Promise.all(streams.map(({ ended }) => ended));
    assert.equal((await request(`${waypost.url}/topics/stream`, { method: 'POST', body: 'y' })).status, 204);
  });

  /** The status tells of it, and so does everything else. */
  async function isSaidToBeAway(): Promise<void> {
    await eventually('the status says 503', async () => {
      const status = await request(`${waypost.url}/status`);
      if (status.status === 503) isHonest(status);
      return status.status === 503;
    });
    const answers = await Promise.all([
      request(`${waypost.url}/queues/away`, { method: 'POST', body: 'x' }),
      request(`${waypost.url}/queues/away/messages/x`, { method: 'PUT', body: 'x' }),
      request(`${waypost.url}/topics/away`, { method: 'POST', body: 'x' }),
      request(`${waypost.url}/queues/away/receiving`, { method: 'POST' }),
      request(`${waypost.url}/queues`),
      request(`${waypost.url}/queues/away`, { method: 'PUT' }),
    ]);
    for (const answer of answers) {
      assert.equal(answer.status, 503);
      isHonest(answer);
    }
    assert.equal((await request(waypost.url)).status, 200, 'the root needs no database');
  }
});

/** No 5xx but 503, and that one says when to come back and nothing of the inside. */
function isHonest(answer: Answer): void {
  if (answer.status < 500) return;
  assert.equal(answer.status, 503, answer.text());
  assert.match(answer.headers['retry-after'] ?? '', /^\d+$/);
  assert.equal(answer.headers['content-type'], 'application/problem+json');
  assert.doesNotMatch(answer.text(), /postgres:\/\/|ECONN|SELECT|\n\s+at /);
}

describe('waking over nodes', () => {
  let cluster: Cluster;
  let url: string;
  let nodes: [WaypostProcess, WaypostProcess];
  before(async () => {
    cluster = await startCluster({ settings: { fsync: 'off' } });
    url = await cluster.createDatabase();
    nodes = await Promise.all([startWaypost({ database: url }), startWaypost({ database: url })]);
    await request(`${nodes[0].url}/queues/far`, { method: 'PUT' });
  });
  after(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await cluster.stop();
  });

  /** A waits on one node, the message comes in on the other; how long A slept after the post was answered. */
  async function wake(body: string): Promise<number> {
    const waiting = request(`${nodes[0].url}/queues/far/receiving`, {
      method: 'POST',
      headers: { 'Accept-Wait': '50' },
    });
    // One round trip behind it: by now it has looked and sleeps, or is about to.
    await request(`${nodes[0].url}/status`);
    assert.equal((await request(`${nodes[1].url}/queues/far`, { method: 'POST', body })).status, 204);
    const posted = performance.now();
    const received = await waiting;
    assert.equal(received.text(), body);
    return performance.now() - posted;
  }

  test('a post on one node wakes who waits on another', async () => {
    const slept: number[] = [];
    for (let round = 0; round < 20; round += 1) slept.push(await wake(`round ${round}`));
    slept.sort((a, b) => a - b);
    // A look once a second would take half a second on average: this is the message itself that wakes.
    assert.ok((slept[10] ?? 0) < 400, `half of them slept longer than ${slept[10]} ms`);
    assert.ok((slept.at(-1) ?? 0) < FEW_SECONDS);
  });

  test('also when the connection that listens was just cut, and the news with it', async () => {
    for (let round = 0; round < 5; round += 1) {
      const waiting = request(`${nodes[0].url}/queues/far/receiving`, {
        method: 'POST',
        headers: { 'Accept-Wait': '50' },
      });
      await request(`${nodes[0].url}/status`);
      const cut = await withConnection(url, (query) =>
        query(`SELECT pg_terminate_backend(pid) AS done FROM pg_stat_activity
          WHERE application_name = 'waypost' AND query ILIKE 'LISTEN%' AND datname = current_database()`),
      );
      assert.equal(cut.length, 2, 'each node listens on a connection of its own');
      assert.equal((await request(`${nodes[1].url}/queues/far`, { method: 'POST', body: `cut ${round}` })).status, 204);
      const posted = performance.now();
      assert.equal((await waiting).text(), `cut ${round}`);
      assert.ok(performance.now() - posted < FEW_SECONDS);
      await eventually('both nodes listen again', async () => {
        const rows = await withConnection(url, (query) =>
          query(`SELECT 1 FROM pg_stat_activity WHERE application_name = 'waypost' AND query ILIKE 'LISTEN%'`),
        );
        return rows.length === 2;
      });
    }
    assert.ok((await wake('after all that')) < FEW_SECONDS);
  });
});
