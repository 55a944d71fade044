/** Who is refused learns why, and what is refused changes nothing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { forEachEngine } from '../../testing/engines.ts';
import { type Answer, request } from '../../testing/http.ts';
import { converse } from '../../testing/raw.ts';
import { withWaypost } from '../../testing/running.ts';

forEachEngine('refusals', (engine) => {
  const waypost = withWaypost(engine);

  test('nobody settles a message that was never delivered', async () => {
    const posted = await request(`${waypost().url}/queues/undelivered`, { method: 'POST', body: 'x' });
    const message = posted.headers.location as string;
    for (const body of ['acknowledge=true', 'acknowledge=false', 'extend=60']) {
      for (const token of ['0', '00', '1']) {
        const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
        const answer = await request(`${message}/acknowledgement/${token}`, { method: 'POST', headers, body });
        assert.equal(answer.status, 404, `${body} with ${token}`);
        assert.equal((await request(message)).headers['message-state'], 'available', `${body} with ${token}`);
      }
    }
  });

  test('an acknowledgement link works at the queue of its message and at no other', async () => {
    const { url } = waypost();
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    for (const queue of ['mine', 'other']) await request(`${url}/queues/${queue}`, { method: 'POST', body: 'x' });
    const polled = await request(`${url}/queues/mine/poller`, { method: 'POST' });
    const link = polled.link('acknowledgement');
    const elsewhere = link.replace('/queues/mine/', '/queues/other/');
    assert.notEqual(elsewhere, link);
    assert.equal((await request(elsewhere)).status, 404);
    for (const body of ['acknowledge=true', 'acknowledge=false', 'extend=60']) {
      assert.equal((await request(elsewhere, { method: 'POST', headers, body })).status, 404, body);
      const { state } = (await request(link)).json<{ state: string }>();
      assert.equal(state, 'leased', body);
    }
    assert.equal((await request(link, { method: 'POST', headers, body: 'acknowledge=true' })).status, 204);
  });

  test('an acknowledgement link is one of its message only, and one that was never given out is not found', async () => {
    const { url } = waypost();
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const settle = async (link: string): Promise<number> =>
      (await request(link, { method: 'POST', headers, body: 'acknowledge=false' })).status;
    const poll = async (): Promise<string> =>
      (await request(`${url}/queues/words/poller`, { method: 'POST' })).link('acknowledgement');
    await request(`${url}/queues/words`, { method: 'POST', body: 'x' });
    await request(`${url}/queues/words/messages/mine`, { method: 'PUT', body: 'y' });
    const [one, two] = [await poll(), await poll()];
    const wordOf = (link: string): string => link.slice(link.lastIndexOf('/') + 1);
    const slipOf = (link: string): string => link.slice(0, -1) + (link.endsWith('7') ? '8' : '7');
    for (const wrong of [one.replace(wordOf(one), wordOf(two)), two.replace(wordOf(two), wordOf(one))]) {
      assert.equal(await settle(wrong), 404);
    }
    for (const link of [one, two]) {
      assert.equal(await settle(slipOf(link)), 404);
      assert.equal((await request(slipOf(link))).status, 404);
      assert.equal(await settle(link), 204);
      await poll();
      // It was given out once, and a newer one has overtaken it.
      assert.equal(await settle(link), 412);
      assert.equal(await settle(slipOf(link)), 404);
    }
  });

  test('a position is one of its topic alone, however many messages both have', async () => {
    const { url } = waypost();
    for (const topic of ['here', 'there']) {
      for (const body of ['1', '2', '3']) await request(`${url}/topics/${topic}`, { method: 'POST', body });
    }
    const positions = [(await request(`${url}/topics/here`)).link('next')];
    for (let at = `${url}/topics/here/first`; ; ) {
      const read = await request(at);
      if (read.status === 204) break;
      at = read.link('next');
      positions.push(at);
    }
    assert.equal(positions.length, 4);
    for (const next of positions) {
      assert.ok((await request(next)).status < 300);
      const carried = await request(next.replace('/topics/here/', '/topics/there/'));
      assert.equal(carried.status, 404);
      assert.match(carried.json<{ detail: string }>().detail, /no position in the topic there; follow its next/);
    }
  });

  test('a PUT under a chosen id keeps to its conditions', async () => {
    const put = async (id: string, headers: Record<string, string>): Promise<number> =>
      (await request(`${waypost().url}/queues/careful/messages/${id}`, { method: 'PUT', headers, body: 'x' })).status;
    assert.equal(await put('a', { 'If-Match': '*' }), 412);
    assert.equal(await put('a', { 'If-Match': '"other"' }), 412);
    assert.equal((await request(`${waypost().url}/queues/careful/messages/a`)).status, 404);
    assert.equal(await put('a', { 'If-None-Match': '*' }), 201);
    assert.equal(await put('a', { 'If-None-Match': '*' }), 412);
    assert.equal(await put('a', { 'If-Match': '*' }), 200);
    const { etag = '' } = (await request(`${waypost().url}/queues/careful/messages/a`)).headers;
    assert.equal(await put('a', { 'If-Match': etag }), 200);
    assert.equal(await put('a', { 'If-None-Match': etag }), 412);
    const both = await Promise.all([put('b', { 'If-None-Match': '*' }), put('b', { 'If-None-Match': '*' })]);
    assert.deepEqual(both.sort(), [201, 412]);
  });

  test('a request without Host is refused by a problem whose address is whole', async () => {
    const [answer] = await converse(waypost().port, Buffer.from('GET /status HTTP/1.1\r\n\r\n'));
    assert.equal(answer?.status, 400);
    const { type } = JSON.parse(String(answer?.body)) as { type: string };
    assert.equal(type, `${waypost().url}/problems/bad-request`);
  });

  test('a queue is not its own dead-letter queue', async () => {
    const { url } = waypost();
    const documents = {
      'application/x-www-form-urlencoded': 'name=self&dead-letter=self',
      'application/json': '{"name":"self","dead-letter":"self"}',
      'application/xml': '<queue name="self"><dead-letter>self</dead-letter></queue>',
    };
    for (const [type, body] of Object.entries(documents)) {
      for (const [method, path] of [
        ['POST', '/queues'],
        ['PUT', '/queues/self'],
      ] as const) {
        const answer = await request(url + path, { method, headers: { 'Content-Type': type }, body });
        assert.equal(answer.status, 422, `${method} ${type}`);
        const { detail, errors } = answer.json<{ detail: string; errors: unknown }>();
        assert.equal(detail, 'dead-letter must be another queue than this one');
        assert.deepEqual(errors, [{ pointer: '/dead-letter', detail: 'must be another queue than this one' }]);
      }
    }
    assert.equal((await request(`${url}/queues/self`)).status, 404);
  });

  test('a dead-letter queue has none itself: neither chains nor circles', async () => {
    const { url } = waypost();
    const headers = { 'Content-Type': 'application/json' };
    const put = (name: string, settings: object) =>
      request(`${url}/queues/${name}`, { method: 'PUT', headers, body: JSON.stringify(settings) });
    const create = (name: string, settings: object) =>
      request(`${url}/queues`, { method: 'POST', headers, body: JSON.stringify({ name, ...settings }) });
    const names = { 'dead-letter': 'ring-b' };
    assert.equal((await put('ring-a', names)).status, 201);
    const because = 'what lies in a dead-letter queue does not die again';
    const refused: [answer: Answer, detail: string][] = [
      [await put('ring-b', { 'dead-letter': 'ring-a' }), 'must not be ring-a, which has a dead-letter queue itself'],
      [
        await create('ring-b', { 'dead-letter': 'ring-c' }),
        'is not for ring-b, which ring-a names as its dead-letter queue',
      ],
      [await create('ring-c', { 'dead-letter': 'ring-a' }), 'must not be ring-a, which has a dead-letter queue itself'],
      [await put('ring.dead', { 'dead-letter': 'ring-c' }), 'is not for a queue whose name ends with .dead'],
    ];
    for (const [answer, detail] of refused) {
      assert.equal(answer.status, 422, answer.text());
      const problem = answer.json<{ detail: string; errors: { pointer: string }[] }>();
      assert.equal(problem.detail, `dead-letter ${detail}: ${because}`);
      assert.deepEqual(
        problem.errors.map(({ pointer }) => pointer),
        ['/dead-letter'],
      );
    }
    for (const name of ['ring-b', 'ring-c', 'ring.dead']) {
      assert.equal((await request(`${url}/queues/${name}`)).status, 404, 'nothing was made');
    }
    // It may be made, and a document that was fetched can be sent back, also with the default that it shows.
    assert.equal((await put('ring-b', { lease: 7 })).status, 201);
    for (const name of ['ring-a', 'ring-b']) {
      const shown = (await request(`${url}/queues/${name}`)).json<object>();
      assert.equal((await put(name, shown)).status, 200, name);
    }
    assert.equal((await create('ring-d', names)).status, 201, 'two may share one');
    // Once nobody names it, it may have one.
    for (const name of ['ring-a', 'ring-d']) assert.equal((await put(name, {})).status, 200);
    assert.equal((await put('ring-b', { 'dead-letter': 'ring-a' })).status, 200);
    assert.equal((await put('ring-a', names)).status, 422);
  });

  test('a batch that is compressed as a whole is refused, and its once-only link stays unused', async () => {
    const { url } = waypost();
    await request(`${url}/queues/coded`, { method: 'PUT' });
    const queue = await request(`${url}/queues/coded`);
    const once = (await request(queue.link('post-batch-once'), { method: 'POST' })).link('create-next');
    const batches = {
      'multipart/mixed; boundary=cut': '--cut\r\nContent-Encoding: gzip\r\n\r\nx\r\n--cut--\r\n',
      'application/atom+xml':
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><content type="text">x</content></entry></feed>',
    };
    for (const [type, body] of Object.entries(batches)) {
      const send = (target: string, coding: string, content: string | Buffer) => {
        const headers = { 'Content-Type': type, 'Content-Encoding': coding };
        return request(target, { method: 'POST', headers, body: content });
      };
      for (const target of [queue.link('post-batch'), once]) {
        for (const content of [body, gzipSync(body)]) {
          const answer = await send(target, 'gzip', content);
          assert.equal(answer.status, 415, type);
          assert.equal(answer.headers['accept-encoding'], 'identity');
          const { detail } = answer.json<{ detail: string }>();
          assert.equal(detail, 'a batch is read without Content-Encoding, not as gzip');
        }
      }
      assert.equal((await send(queue.link('post-batch'), 'identity', body)).status, 201, type);
    }
    assert.equal((await request(once)).status, 204);
    const { counts } = (await request(`${url}/queues/coded`)).json<{ counts: { available: number } }>();
    assert.equal(counts.available, 2);
  });

  test('who creates a destination that is there is led to it', async () => {
    for (const kind of ['queue', 'topic']) {
      const headers = { 'Content-Type': 'application/json' };
      const create = () =>
        request(`${waypost().url}/${kind}s`, { method: 'POST', headers, body: JSON.stringify({ name: 'twice' }) });
      const { location = '' } = (await create()).headers;
      const refused = await create();
      assert.equal(refused.status, 409);
      assert.equal(refused.link('about'), location);
      assert.deepEqual(refused.json<{ links: unknown }>().links, [{ rel: 'about', href: location }]);
    }
  });

  test('nothing is done behind an answer that ends its connection', async () => {
    const post = 'POST /queues/any HTTP/1.1\r\nHost: a\r\n';
    const last = {
      'a request that is to be the last': 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      'a body that is too large': `${post}Content-Length: 999999999\r\n\r\n`,
      'a body that cannot be read': `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
      'no request': 'nonsense\r\n\r\n',
    };
    for (const [what, head] of Object.entries(last)) {
      for (const expectation of ['', 'Expect: 100-continue\r\n']) {
        const behind = `POST /queues/behind HTTP/1.1\r\nHost: a\r\n${expectation}Content-Length: 1\r\n\r\nx`;
        const bytes = Buffer.from(`${head}${behind}`);
        const answers = await converse(waypost().port, bytes, { answers: 2 });
        assert.deepEqual(
          answers.map(({ headers }) => headers.connection),
          ['close'],
          what,
        );
        // When this one is stored, so is what was sent before it.
        await request(`${waypost().url}/queues/later`, { method: 'POST', body: 'x' });
        assert.equal((await request(`${waypost().url}/queues/behind`)).status, 404, what);
      }
    }
  });

  test('a message that speaks of connections does not end the one it is received on', async () => {
    const headers = { 'X-About': 'Connection' };
    for (const body of ['1', '2']) await request(`${waypost().url}/queues/about`, { method: 'POST', headers, body });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      for (const body of ['1', '2']) {
        const answer = await request(`${waypost().url}/queues/about/receiving`, {
          method: 'POST',
          agent,
          timeout: 10_000,
        });
        assert.equal(answer.text(), body);
      }
    } finally {
      agent.destroy();
    }
  });

  test('nobody is asked for a body that is refused, and who sends it all the same can read the refusal', async () => {
    const body = Buffer.alloc(8 * 1024 * 1024);
    const socket = connect({ port: waypost().port, host: '127.0.0.1' });
    try {
      // Nothing is read before all is sent: a connection that is cut off loses what was not read.
      socket.pause();
      socket.write(
        `POST /nowhere HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
      );
      for (let from = 0; from < body.length; from += 65_536) {
        const written = new Promise((resolve, reject) => {
          socket.write(body.subarray(from, from + 65_536), (error) => (error ? reject(error) : resolve(undefined)));
        });
        await written;
      }
      let text = '';
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
      });
      socket.resume();
      await once(socket, 'end');
      assert.match(text, /^HTTP\/1\.1 404 /);
    } finally {
      socket.destroy();
    }
  });
});
