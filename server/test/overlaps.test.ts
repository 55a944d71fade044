/** What was answered holds, also where two things happen at once or a destination is full, gone or made anew. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { forEachEngine } from '../../testing/engines.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Answer, type RequestOptions, request } from '../../testing/http.ts';
import { startCluster } from '../../testing/postgres.ts';
import { withWaypost } from '../../testing/running.ts';
import { startWaypost } from '../../testing/waypost.ts';

forEachEngine('overlaps', (engine) => {
  const waypost = withWaypost(engine);

  const send = (method: string, path: string, options: RequestOptions = {}): Promise<Answer> =>
    request(path.startsWith('http') ? path : waypost().url + path, { method, ...options });
  const settings = (name: string, values: Record<string, unknown>): Promise<Answer> =>
    send('PUT', `/queues/${name}`, {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(values),
    });
  const receive = async (queue: string, wait = 0): Promise<string | undefined> => {
    const answer = await send('POST', `/queues/${queue}/receiving`, { headers: { 'accept-wait': String(wait) } });
    return answer.status === 200 ? answer.text() : undefined;
  };

  test('an id that was refused for want of room can be used when there is room', async () => {
    assert.equal((await settings('narrow', { 'max-length': 1 })).status, 201);
    const put = (id: string) => send('PUT', `/queues/narrow/messages/${id}`, { body: id });
    assert.equal((await put('one')).status, 201);
    assert.equal((await put('two')).status, 409);
    assert.equal((await put('one')).status, 200);
    assert.equal(await receive('narrow'), 'one');
    assert.equal((await put('two')).status, 201);
    assert.equal(await receive('narrow'), 'two');
  });

  test('times that are no whole milliseconds break neither acknowledgement nor redelivery', async () => {
    const odd = { retention: 1000.0005, lease: 0.0505, 'max-deliveries': 1 };
    assert.equal((await settings('odd', odd)).status, 201);
    const topic = { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ retention: 1000.0005 }) };
    assert.equal((await send('PUT', '/topics/odd', topic)).status, 201);
    await settings('odd.dead', {});
    await send('POST', '/queues/odd', { body: 'dies' });
    assert.equal((await send('POST', '/queues/odd/poller')).status, 200);
    assert.equal(await receive('odd.dead', 10), 'dies');
    await settings('odd', { ...odd, lease: 30 });
    await send('POST', '/queues/odd', { body: 'lives' });
    const delivery = await send('POST', '/queues/odd/poller', { headers: { 'accept-wait': '10' } });
    const verdict = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'acknowledge=true' };
    assert.equal((await send('POST', delivery.link('acknowledgement'), verdict)).status, 204);
    assert.doesNotMatch(waypost().stderr, /a duty failed/);
  });

  test('many large batches at once find ids enough', async () => {
    const part = '--b\r\n\r\nx\r\n';
    const batch = { headers: { 'content-type': 'multipart/mixed; boundary=b' }, body: `${part.repeat(1000)}--b--\r\n` };
    const answers = await Promise.all(Array.from({ length: 12 }, () => send('POST', '/queues/plenty/batches', batch)));
    assert.deepEqual(
      answers.map((answer) => answer.status),
      answers.map(() => 201),
      answers
        .map((answer) => answer.text())
        .join('\n')
        .slice(0, 1000),
    );
  });

  test('a queue that is deleted while posts make it anew is either there or not', async () => {
    for (let round = 0; round < 40; round++) {
      const posts = Array.from({ length: 3 }, () => send('POST', '/queues/flicker', { body: 'x' }));
      const deletion = send('DELETE', '/queues/flicker?force=true');
      assert.deepEqual(
        (await Promise.all(posts)).map((answer) => answer.status),
        [204, 204, 204],
      );
      await deletion;
      await send('DELETE', '/queues/flicker?force=true');
      for (const path of ['/queues/flicker', '/queues/flicker/receiving']) {
        assert.equal((await send('GET', path)).status, 404, `${path} in round ${round}`);
      }
    }
  });

  test('a client that waits at a queue which is deleted is not kept waiting', async () => {
    await settings('short-lived', {});
    const waiting = send('POST', '/queues/short-lived/receiving', { headers: { 'accept-wait': '60' } });
    // Nothing tells that the client waits by now; should it come later, it is told that there is no queue.
    await eventually('the queue is gone', async () => (await send('DELETE', '/queues/short-lived')).status === 204);
    const started = performance.now();
    assert.ok([204, 404].includes((await waiting).status));
    assert.ok(performance.now() - started < 30_000, 'the client waited for a queue that is not there');
  });
});

test('a stream of events that loses its database does not take the service with it', { timeout: 60_000 }, async () => {
  const cluster = await startCluster();
  const waypost = await startWaypost({ database: await cluster.createDatabase() });
  try {
    await request(`${waypost.url}/topics/news`, { method: 'POST', body: 'x' });
    const topic = await request(`${waypost.url}/topics/news`, { method: 'HEAD' });
    const stream = get(topic.link('next'), { agent: false, headers: { accept: 'text/event-stream' } });
    const [events] = (await once(stream, 'response')) as [IncomingMessage];
    await once(events, 'data');
    const over = new Promise((resolve) => events.resume().on('error', resolve).once('close', resolve));
    await cluster.shutDown('immediate');
    // It ends with its next look at the database, at its heartbeat at the latest.
    await over;
    await cluster.startUp();
    await eventually('the service answers', async () => (await request(`${waypost.url}/status`)).status === 200);
  } finally {
    await waypost.stop();
    await cluster.stop();
  }
});
