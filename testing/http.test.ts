import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { rawExchange, request } from './http.ts';

const servers: Server[] = [];
const sockets = new Set<Socket>();
after(() => {
  for (const server of servers) server.close();
  for (const socket of sockets) socket.destroy();
});

async function listening(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}

const serve = async (listener: RequestListener) => `http://127.0.0.1:${await listening(createServer(listener))}`;

describe('request', () => {
  test('sends method, fields and body, and reads the answer', async () => {
    const url = await serve(async (incoming, response) => {
      const chunks = await incoming.toArray();
      response.writeHead(201, { 'X-Twice': ['a', 'b'], Link: '<http://x/1>; rel="self", <http://x/2>; rel=next' });
      const { method, headers } = incoming;
      response.end(JSON.stringify({ method, body: Buffer.concat(chunks).toString(), kind: headers['content-type'] }));
    });
    const answer = await request(url, { method: 'LINK', headers: { 'Content-Type': 'text/x' }, body: 'grün' });
    assert.equal(answer.status, 201);
    assert.equal(answer.headers['x-twice'], 'a, b');
    assert.ok(answer.rawHeaders.includes('X-Twice'));
    assert.deepEqual(answer.json(), { method: 'LINK', body: 'grün', kind: 'text/x' });
    assert.equal(answer.link('next'), 'http://x/2');
    assert.equal(answer.links.length, 2);
    assert.throws(() => answer.link('last'), /answered 201 without a link "last" \(links: self, next\)/);
  });

  test('can be given up, and gives up by itself', async () => {
    const url = await serve(() => {});
    await assert.rejects(request(url, { signal: AbortSignal.timeout(20) }), { name: 'AbortError' });
    await assert.rejects(request(url, { timeout: 20 }), { name: 'AbortError' });
  });

  test('fails when the answer breaks off', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-length': 10 });
      response.write('half', () => response.destroy());
    });
    await assert.rejects(request(url), { code: 'ECONNRESET' });
  });
});

describe('rawExchange', () => {
  /** A server that says the parts one after another and leaves the connection open. */
  const saying = (...parts: string[]) =>
    listening(
      createTcpServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', async () => {
          for (const part of parts) await new Promise((resolve) => socket.write(part, resolve));
        });
      }),
    );

  test('hands over bytes as they are and ends when the server closes', async () => {
    const port = await listening(
      createTcpServer((socket) => {
        socket.once('data', (bytes) => {
          socket.write('got ');
          socket.end(bytes);
        });
      }),
    );
    assert.equal(await rawExchange(port, Buffer.from([0xff, 0x00, 0x41])), 'got \xff\x00A');
    assert.equal(await rawExchange(port, '\xff\x00A'), 'got \xff\x00A');
    assert.throws(() => rawExchange(port, '€'), /Latin-1/);
  });

  const whole = {
    'of a given length': ['HTTP/1.1 200 OK\r\nContent-', 'Length: 4\r\n\r\nab', 'cd'],
    'in chunks': ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n', '3\r\ncde\r\n0\r', '\n\r\n'],
    'without a body': ['HTTP/1.1 204 No Content\r\n\r\n'],
    'after an interim one': ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n', 'x'],
  };
  for (const [kind, parts] of Object.entries(whole)) {
    test(`ends after a whole answer ${kind}`, async () => {
      assert.equal(await rawExchange(await saying(...parts), 'GET / HTTP/1.1\r\n\r\n'), parts.join(''));
    });
  }

  test('expects no body after HEAD', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n';
    assert.equal(await rawExchange(await saying(head), 'HEAD / HTTP/1.1\r\n\r\n'), head);
  });
});
