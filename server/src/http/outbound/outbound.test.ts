import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { LOOPBACK } from './addresses.ts';
import { createOutbound, OutboundError, type OutboundFailure, type OutboundOptions } from './outbound.ts';

async function listening(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serve = (t: TestContext, handle: RequestListener): Promise<string> => {
  const server = createServer(handle);
  t.after(() => server.closeAllConnections());
  return listening(t, server);
};

/** Answers every connection with these bytes, whatever was asked. */
const serveRaw = (t: TestContext, onConnection: (socket: Socket) => void): Promise<string> => {
  const sockets = new Set<Socket>();
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  return listening(
    t,
    createTcpServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      onConnection(socket);
    }),
  );
};

function outbound(t: TestContext, options: OutboundOptions = {}) {
  const created = createOutbound({ allow: LOOPBACK, ...options });
  t.after(() => created.close());
  return created;
}

const failsWith = (kind: OutboundFailure) => (error: unknown) => {
  assert.ok(error instanceof OutboundError, String(error));
  assert.equal(error.kind, kind, error.message);
  return true;
};

test('sends method, fields and body, and gives status, fields and body', async (t) => {
  const seen: { method?: string | undefined; headers?: IncomingMessage['headers']; body?: string } = {};
  const url = await serve(t, async (request, response) => {
    seen.method = request.method;
    seen.headers = request.headers;
    seen.body = Buffer.concat(await request.toArray()).toString();
    response.writeHead(201, { Link: ['<a>; rel="x"', '<b>; rel="y"'] }).end('done');
  });
  const headers = [
    ['X-Twice', 'one'],
    ['X-Twice', 'two'],
    ['X-Odd', 'caf\xe9'],
  ] as const;
  const answer = await outbound(t).send({ method: 'POST', url: `${url}/path?query=1`, headers, body: 'hello' });
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.link, '<a>; rel="x", <b>; rel="y"');
  assert.equal(answer.body.toString(), 'done');
  assert.equal(seen.method, 'POST');
  assert.equal(seen.body, 'hello');
  assert.equal(seen.headers?.['x-twice'], 'one, two');
  assert.equal(seen.headers?.['x-odd'], 'caf\xe9');
  assert.equal(seen.headers?.['content-type'], undefined);
});

test('keeps connections to a host and uses them again', async (t) => {
  const ports = new Set<number | undefined>();
  const url = await serve(t, (request, response) => {
    ports.add(request.socket.remotePort);
    response.end();
  });
  const { send } = outbound(t);
  for (let i = 0; i < 20; i++) await send({ method: 'POST', url });
  // A second one is opened when an answer's end and the next call meet.
  assert.ok(ports.size <= 2, `${ports.size} connections`);
});

test('does not follow redirects', async (t) => {
  let asked = 0;
  const url = await serve(t, (_, response) => {
    asked += 1;
    response.writeHead(302, { Location: '/elsewhere' }).end();
  });
  assert.equal((await outbound(t).send({ method: 'GET', url })).status, 302);
  assert.equal(asked, 1);
});

test('does not use proxies from the environment', async (t) => {
  let proxied = 0;
  const proxy = await serve(t, (_, response) => {
    proxied += 1;
    response.end();
  });
  const url = await serve(t, (_, response) => response.end('direct'));
  process.env.http_proxy = proxy;
  process.env.HTTP_PROXY = proxy;
  t.after(() => {
    delete process.env.http_proxy;
    delete process.env.HTTP_PROXY;
  });
  assert.equal((await outbound(t).send({ method: 'GET', url })).body.toString(), 'direct');
  assert.equal(proxied, 0);
});

test('refuses addresses and schemes that may not be called, at the check and at the call', async (t) => {
  let asked = 0;
  const url = await serve(t, (_, response) => {
    asked += 1;
    response.end();
  });
  const strict = outbound(t, { allow: [] });
  const port = new URL(url).port;
  const refused = [
    url,
    `http://[::1]:${port}/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    `http://0x7f.1:${port}/`,
    `http://2130706433:${port}/`,
    'http://169.254.169.254/latest/meta-data/',
    'ftp://example.org/',
    'file:///etc/passwd',
    `http://user:secret@example.org/`,
    '/relative',
  ];
  for (const each of refused) {
    const problem = await strict.check(each);
    assert.equal(problem?.status, 422, each);
    await assert.rejects(strict.send({ method: 'POST', url: each }), failsWith('refused-address'), each);
  }
  assert.equal(asked, 0);
  assert.equal(await outbound(t).check(url), undefined);
});

test('a name that resolves to a public and then to a loopback address is not called', async (t) => {
  let asked = 0;
  const url = await serve(t, (_, response) => {
    asked += 1;
    response.end();
  });
  const answers = [['93.184.216.34'], ['127.0.0.1'], ['127.0.0.1']];
  const resolve = async () => answers.shift() ?? [];
  const { check, send } = outbound(t, { allow: [], resolve });
  const rebinding = `http://rebinding.example:${new URL(url).port}/`;
  assert.equal(await check(rebinding), undefined);
  await assert.rejects(send({ method: 'POST', url: rebinding }), failsWith('refused-address'));
  assert.equal((await check(rebinding))?.status, 422);
  assert.equal(asked, 0);
});

test('of several addresses only those that may be called are tried, one after the other', async (t) => {
  const url = await serve(t, (request, response) => response.end(request.headers.host));
  const port = new URL(url).port;
  // Nothing listens on 127.0.0.9 at that port.
  const resolve = async () => ['10.255.255.1', '127.0.0.9', '127.0.0.1'];
  const { body } = await outbound(t, { resolve }).send({ method: 'GET', url: `http://several.example:${port}/` });
  assert.equal(body.toString(), `several.example:${port}`);
});

test('a name that cannot be resolved passes the check and fails the call', async (t) => {
  const resolve = async () => {
    throw new Error('ENOTFOUND');
  };
  const { check, send } = outbound(t, { resolve });
  assert.equal(await check('http://nowhere.example/'), undefined);
  await assert.rejects(send({ method: 'POST', url: 'http://nowhere.example/' }), failsWith('network'));
});

test('one deadline holds for an answer that never comes, comes slowly or never ends', async (t) => {
  const { send } = outbound(t, { timeout: 300 });
  const silent = await serveRaw(t, () => {});
  await assert.rejects(send({ method: 'POST', url: silent }), failsWith('timeout'));
  const drips = await serve(t, (_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('.'), 20);
    response.on('close', () => clearInterval(timer));
  });
  await assert.rejects(send({ method: 'POST', url: drips }), failsWith('timeout'));
});

test('what was given up while it waited for a connection is never sent', async (t) => {
  const seen: string[] = [];
  const waiting: ServerResponse[] = [];
  const url = await serve(t, (request, response) => {
    seen.push(request.url ?? '');
    waiting.push(response);
  });
  const { send } = outbound(t, { connectionsPerHost: 1 });
  const first = send({ method: 'POST', url: `${url}/first` });
  while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(send({ method: 'POST', url: `${url}/second`, timeout: 100 }), failsWith('timeout'));
  const third = send({ method: 'POST', url: `${url}/third` });
  waiting.shift()?.end();
  await first;
  while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
  waiting.shift()?.end();
  await third;
  assert.deepEqual(seen, ['/first', '/third']);
});

test('a signal breaks a call off', async (t) => {
  const controller = new AbortController();
  const url = await serve(t, () => controller.abort());
  const { send } = outbound(t);
  await assert.rejects(send({ method: 'POST', url, signal: controller.signal }), failsWith('aborted'));
  await assert.rejects(send({ method: 'POST', url, signal: controller.signal }), failsWith('aborted'));
});

test('reads no more of an answer than is wanted and closes the connection', async (t) => {
  const GIBIBYTE = 2 ** 30;
  let closed = Promise.resolve();
  let written = 0;
  const url = await serve(t, (_, response) => {
    closed = new Promise((resolve) => response.on('close', () => resolve()));
    response.writeHead(200, { 'Content-Length': GIBIBYTE });
    const piece = Buffer.alloc(65536);
    const go = () => {
      while (written < GIBIBYTE && !response.destroyed) {
        written += piece.length;
        if (!response.write(piece)) break;
      }
    };
    response.on('drain', go);
    go();
  });
  const { send } = outbound(t);
  await assert.rejects(send({ method: 'GET', url, maxBody: 1000 }), failsWith('too-large'));
  await closed;
  const answer = await send({ method: 'GET', url, maxBody: 1000, mayCut: true });
  assert.deepEqual([answer.status, answer.cut, answer.body.length], [200, true, 1000]);
  await closed;
  assert.ok(written < GIBIBYTE / 4, `${written} bytes were written`);
});

test('names what is wrong with a connection or an answer', async (t) => {
  const { send } = outbound(t);
  const raw = (bytes: string) =>
    serveRaw(t, (socket) => {
      socket.once('data', () => socket.end(bytes));
    });
  const cases: [string, OutboundFailure][] = [
    [await raw('this is not HTTP\r\n\r\n'), 'bad-answer'],
    [await raw('HTTP/1.1 200 OK\r\nbad header line\r\n\r\n'), 'bad-answer'],
    [await raw('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort'), 'network'],
    [await raw('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel'), 'network'],
    [await raw(''), 'network'],
    [await raw(`HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`), 'too-large'],
    [await raw('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'), 'network'],
  ];
  for (const [url, kind] of cases) await assert.rejects(send({ method: 'POST', url }), failsWith(kind));
  const server = createServer();
  const refusing = await listening(t, server);
  await new Promise((resolve) => server.close(resolve));
  await assert.rejects(send({ method: 'POST', url: refusing }), failsWith('network'));
  await assert.rejects(send({ method: 'POST', url: refusing, headers: [['X\n', 'y']] }), failsWith('bad-request'));
});

test('closing breaks off what is under way', async (t) => {
  let arrived = (): void => {};
  const asked = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const url = await serve(t, () => arrived());
  const { send, close } = createOutbound({ allow: LOOPBACK });
  const call = assert.rejects(send({ method: 'POST', url }), failsWith('closed'));
  await asked;
  await close();
  await call;
  await assert.rejects(send({ method: 'POST', url }), failsWith('closed'));
});
