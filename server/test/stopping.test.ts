/** Stopping by a signal: nothing new, everything under way is answered, and the end comes soon and clean. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { forEachEngine } from '../../testing/engines.ts';
import { eventually } from '../../testing/eventually.ts';
import { temporaryFolder } from '../../testing/folders.ts';
import { request } from '../../testing/http.ts';
import { parseAnswers } from '../../testing/raw.ts';
import { startWaypost, type WaypostProcess } from '../../testing/waypost.ts';

/** The promise is ten seconds, of which eight are for clients; a machine that is busy with other tests adds to it. */
const PROMISED = 15_000;

type Connection = { socket: Socket; received(): Buffer; closed: Promise<void> };

async function open(port: number, bytes = ''): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1' });
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
  });
  // A connection may be cut by a reset as well as by a goodbye.
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await once(socket, 'connect');
  if (bytes !== '') socket.write(bytes);
  return { socket, received: () => received, closed };
}

/** Sends the signal, waits for the end and gives how long it took. */
async function ends(waypost: WaypostProcess, ...signals: NodeJS.Signals[]): Promise<number> {
  const started = performance.now();
  for (const signal of signals) waypost.kill(signal);
  assert.deepEqual(await waypost.exited, { code: 0, signal: null }, waypost.stderr);
  return performance.now() - started;
}

const refused = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('error', () => resolve(true));
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
  });
};

forEachEngine('stopping', (engine) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal}: those who wait are sent home, an upload is finished, idle connections end`, async () => {
      const database = await engine.database();
      const waypost = await startWaypost({ args: database.args });
      await request(`${waypost.url}/queues/q`, { method: 'PUT' });
      await request(`${waypost.url}/topics/t`, { method: 'PUT' });
      const next = (await request(`${waypost.url}/topics/t`)).link('next');

      const wait = { headers: { 'Accept-Wait': '50' } };
      const waiting = [
        request(`${waypost.url}/queues/q/receiving`, { method: 'POST', ...wait }),
        request(`${waypost.url}/queues/q/receiving`, wait),
        request(`${waypost.url}/queues/q/poller`, { method: 'POST', ...wait }),
        request(next, wait),
      ];
      const idle = await open(waypost.port, 'GET /status HTTP/1.1\r\nHost: a\r\n\r\n');
      await eventually('the idle connection has its answer', () => parseAnswers(idle.received()).length === 1);
      const silent = await open(waypost.port);
      const garbage = await open(waypost.port, 'GET nonsense\r\n\r\n');
      const upload = await open(waypost.port, 'POST /queues/q HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfirst');
      await eventually('garbage was refused', () => parseAnswers(garbage.received()).length === 1);
      // Whatever was sent before has been read by the time this is answered.
      await request(`${waypost.url}/status`);

      const ended = ends(waypost, signal);
      for (const answer of await Promise.all(waiting)) {
        assert.equal(answer.status, 204);
        assert.ok(answer.links.length > 0);
        assert.equal(answer.headers.connection, 'close');
      }
      await Promise.all([idle.closed, silent.closed, garbage.closed]);
      await eventually('no new connection is taken', () => refused(waypost.port));
      assert.equal(parseAnswers(upload.received()).length, 0);
      upload.socket.write('later');
      await upload.closed;
      const [answer] = parseAnswers(upload.received());
      assert.equal(answer?.status, 204, upload.received().toString());
      assert.equal(answer?.headers.connection, 'close');
      assert.ok((await ended) < PROMISED);

      const again = await startWaypost({ args: database.args });
      const stored = await request(`${again.url}/queues/q/receiving`, { method: 'POST' });
      assert.equal(stored.text(), 'firstlater');
      await again.stop();
      await database.drop();
    });
  }

  test('what was sent behind a request that waits is answered, too', async () => {
    const database = await engine.database();
    const waypost = await startWaypost({ args: database.args });
    await request(`${waypost.url}/queues/q`, { method: 'PUT' });
    const wait = 'POST /queues/q/receiving HTTP/1.1\r\nHost: a\r\nAccept-Wait: 50\r\n\r\n';
    const post = 'POST /queues/behind HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx';
    const pipeline = await open(waypost.port, `${wait}${post}`);
    // Whatever was sent before has been read by the time this is answered.
    assert.equal((await request(`${waypost.url}/queues/behind`)).status, 404);
    assert.ok((await ends(waypost, 'SIGTERM')) < PROMISED);
    await pipeline.closed;
    assert.deepEqual(
      parseAnswers(pipeline.received()).map(({ status }) => status),
      [204, 204],
    );
    await database.drop();
  });

  test('a second signal, and a third, change nothing', async () => {
    const database = await engine.database();
    const waypost = await startWaypost({ args: database.args });
    const upload = await open(waypost.port, 'POST /queues/q HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nwh');
    await request(`${waypost.url}/status`);
    const ended = ends(waypost, 'SIGTERM', 'SIGTERM', 'SIGINT');
    await eventually('it is stopping', () => refused(waypost.port));
    waypost.kill('SIGTERM');
    upload.socket.write('at');
    await upload.closed;
    assert.equal(parseAnswers(upload.received())[0]?.status, 204);
    assert.ok((await ended) < PROMISED);
    await database.drop();
  });

  test('who never finishes is cut off in time', async () => {
    const database = await engine.database();
    const waypost = await startWaypost({ args: database.args });
    const stuck = await Promise.all([
      open(waypost.port, 'POST /queues/q HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfirst'),
      open(waypost.port, 'POST /queues/q HTTP/1.1\r\nHos'),
      open(waypost.port, 'POST /queues/q HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc'),
    ]);
    await request(`${waypost.url}/status`);
    assert.ok((await ends(waypost, 'SIGTERM')) < PROMISED);
    await Promise.all(stuck.map(({ closed }) => closed));
    await database.drop();
  });

  test('an event stream ends with the service', async () => {
    const database = await engine.database();
    const waypost = await startWaypost({ args: database.args });
    await request(`${waypost.url}/topics/t`, { method: 'PUT' });
    const next = new URL((await request(`${waypost.url}/topics/t`)).link('next'));
    const stream = await open(
      waypost.port,
      `GET ${next.pathname} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n`,
    );
    await eventually('the stream is open', () => stream.received().includes('text/event-stream'));
    assert.ok((await ends(waypost, 'SIGTERM')) < PROMISED);
    await stream.closed;
    await database.drop();
  });
});

test('a signal to `npm start` reaches the service', async () => {
  const npm = spawn('npm', ['start', '--silent', '--', '--port', '0', '--data', temporaryFolder()], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const [line] = (await once(npm.stdout, 'data')) as [Buffer];
    const url = /http:\S+/.exec(String(line))?.[0] ?? '';
    assert.equal((await request(`${url}/status`)).status, 200);
    npm.kill('SIGTERM');
    await eventually('the service is gone', () => refused(Number(new URL(url).port)));
  } finally {
    npm.kill('SIGKILL');
  }
});
