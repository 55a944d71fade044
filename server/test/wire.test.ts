/** Messages over connections that break, lag, end early or say several things at once: none is lost, none is made up. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { forEachEngine } from '../../testing/engines.ts';
import { request } from '../../testing/http.ts';
import { converse, parseAnswers } from '../../testing/raw.ts';
import { withWaypost } from '../../testing/running.ts';
import { startWaypost } from '../../testing/waypost.ts';

const post = (queue: string, body: string, fields = ''): string =>
  `POST /queues/${queue} HTTP/1.1\r\nHost: a\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;

const CHUNKED =
  'POST /queues/cut HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\nX: y\r\n\r\n';

const waitAt = (queue: string): string =>
  `POST /queues/${queue}/receiving HTTP/1.1\r\nHost: a\r\nAccept-Wait: 30\r\n\r\n`;

forEachEngine('on the wire', (engine) => {
  const waypost = withWaypost(engine);

  async function open(): Promise<Socket> {
    const socket = connect({ port: waypost().port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }

  /** Whatever was sent before on any connection has been read when this is answered. */
  const settled = () => request(`${waypost().url}/status`);

  async function takeAll(queue: string): Promise<string[]> {
    const taken: string[] = [];
    for (;;) {
      const answer = await request(`${waypost().url}/queues/${queue}/receiving`, { method: 'POST' });
      if (answer.status !== 200) return taken;
      taken.push(answer.text());
    }
  }

  const statusesOf = (answers: readonly { status: number }[]) => answers.map(({ status }) => status);

  test('posts that are sent without waiting are stored and answered in their order', async () => {
    const bodies = Array.from({ length: 100 }, (_, i) => `message ${i}`);
    const bytes = Buffer.from(bodies.map((body) => post('order', body)).join(''));
    const answers = await converse(waypost().port, bytes, { answers: bodies.length });
    const links = answers.map(({ headers }) => new URL(headers.location ?? ''));
    assert.deepEqual(
      statusesOf(answers),
      bodies.map(() => 204),
    );
    for (const at of [0, 42, 99]) {
      assert.equal((await request(`${waypost().url}${links[at]?.pathname}`)).text(), bodies[at]);
    }
    assert.deepEqual(await takeAll('order'), bodies);
  });

  test('what stands before a malformed request is done, what stands behind it is not', async () => {
    for (const bad of [
      post('middle', 'bad', 'X : y\r\n'),
      post('middle', 'bad', 'Content-Length: 3\r\n'),
      post('middle', 'bad', 'Transfer-Encoding: chunked\r\n'),
      post('middle', 'bad', 'X: a\r\n b\r\n'),
      post('middle', 'bad').replace('HTTP/1.1', 'HTTP/2.1'),
    ]) {
      const bytes = Buffer.from(post('middle', 'before') + bad + post('middle', 'behind'));
      const [first, second, ...more] = statusesOf(await converse(waypost().port, bytes, { answers: 3 }));
      assert.equal(first, 204);
      assert.ok(second === 400 || second === 505, `${second}`);
      assert.deepEqual(more, []);
      assert.deepEqual(await takeAll('middle'), ['before'], bad);
    }
  });

  test('a post that is cut off anywhere stores nothing, and its sender is told if it can be', async () => {
    for (const whole of [post('cut', 'hello'), CHUNKED]) {
      for (let at = 1; at < whole.length; at += at < whole.length - 40 ? 9 : 1) {
        const answers = await converse(waypost().port, Buffer.from(whole.slice(0, at)), { end: true });
        assert.deepEqual(statusesOf(answers), [400], `${at}`);
        const socket = await open();
        socket.write(whole.slice(0, at));
        await settled();
        socket.resetAndDestroy();
      }
    }
    await settled();
    assert.equal((await request(`${waypost().url}/queues/cut`)).status, 404);
    assert.deepEqual(statusesOf(await converse(waypost().port, Buffer.from(CHUNKED), { end: true })), [204]);
    assert.deepEqual(await takeAll('cut'), ['hello']);
  });

  test('who waits and goes away, in whatever manner, takes no message', async () => {
    await request(`${waypost().url}/queues/left`, { method: 'PUT' });
    const manners: Record<string, (socket: Socket) => unknown> = {
      'a goodbye': (socket) => socket.end(),
      'an end': (socket) => socket.destroy(),
      'a reset': (socket) => socket.resetAndDestroy(),
    };
    // More than is read behind a request that has no answer yet: what comes behind it is not seen, a goodbye neither.
    const tooMuch = `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(1000)}\r\n\r\n`.repeat(300);
    const cases = Object.entries(manners).flatMap(([manner, leave]) => [
      { manner, leave, behind: '' },
      { manner: `${manner} behind too much`, leave, behind: tooMuch },
    ]);
    for (const { manner, leave, behind } of cases) {
      const socket = await open();
      socket.resume().write(waitAt('left'));
      await settled();
      if (behind !== '') await new Promise((resolve) => socket.write(behind, resolve));
      await settled();
      leave(socket);
      await settled();
      await request(`${waypost().url}/queues/left`, { method: 'POST', body: manner });
      // One that was looking for a message at that moment gives back what it finds, which takes a while.
      const wait = { method: 'POST', headers: { 'Accept-Wait': '10' } };
      assert.equal((await request(`${waypost().url}/queues/left/receiving`, wait)).text(), manner);
      socket.destroy();
    }
  });

  test('a goodbye behind a pipeline ends the waiting, and the rest of it is done', async () => {
    await request(`${waypost().url}/queues/rest`, { method: 'PUT' });
    const bytes = Buffer.from(waitAt('rest') + post('rest', 'behind'));
    assert.deepEqual(statusesOf(await converse(waypost().port, bytes, { end: true, answers: 3 })), [204, 204]);
    assert.deepEqual(await takeAll('rest'), ['behind']);
  });

  test('a client that sends byte by byte is served like any other', async () => {
    const socket = await open();
    let received = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
    });
    for (const byte of CHUNKED.replace('/cut', '/slow') + post('slow', 'second')) {
      socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.end();
    await once(socket, 'end');
    socket.destroy();
    assert.deepEqual(statusesOf(parseAnswers(received)), [204, 204]);
    assert.deepEqual(await takeAll('slow'), ['hello', 'second']);
  });

  test('HTTP/1.0 may leave out Host, also for the star; HTTP/1.1 may not', async () => {
    for (const [head, status] of [
      ['OPTIONS * HTTP/1.0\r\n\r\n', 204],
      ['GET /status HTTP/1.0\r\n\r\n', 200],
      ['OPTIONS * HTTP/1.1\r\n\r\n', 400],
      ['GET http://a.example/status HTTP/1.1\r\nHost: b.example\r\n\r\n', 200],
      ['GET http://a.example/status HTTP/1.1\r\n\r\n', 400],
    ] as const) {
      assert.deepEqual(statusesOf(await converse(waypost().port, Buffer.from(head))), [status], head);
    }
  });
});

test('uploads that are refused early do not count against those that are not', async () => {
  const waypost = await startWaypost({ args: ['--max-body', '1048576', '--max-buffered', '1048576'] });
  const head = (path: string, length: number): string =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
  for (let i = 0; i < 30; i++) {
    const [answer] = await converse(waypost.port, Buffer.from(head('/nowhere', 1_000_000) + 'x'.repeat(50_000)));
    assert.deepEqual([answer?.status, answer?.headers.connection], [404, 'close']);
  }
  // Larger than what comes at once, so that it has to be gathered.
  const [answer] = await converse(waypost.port, Buffer.from(head('/queues/q', 900_000) + 'x'.repeat(900_000)));
  assert.equal(answer?.status, 204);
  await waypost.stop();
});
