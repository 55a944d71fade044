import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { Problem } from '../problems.ts';
import { createBodyReader, isRead } from './body.ts';

const bodies = createBodyReader({ body: 100, buffered: 1000 });
let server: Server;
let port = 0;

/** Answers with the body, as soon as there is one. */
before(async () => {
  server = createServer(async (message, response) => {
    try {
      const body = await bodies.read(message);
      response.end(isRead(message) ? `[${body}]` : 'not read');
    } catch (error) {
      const code = error instanceof Problem ? error.code : 'fault';
      server.emit('refused', code);
      response.end(code);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
});

after(() => {
  server.closeAllConnections();
  server.close();
});

const HEAD = 'POST / HTTP/1.1\r\nHost: here\r\n';
const whole = (body: string): string => `${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`;

/** Reads until the last of the answers has come. */
async function read(socket: Socket, last: string): Promise<string> {
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.endsWith(last)) break;
  }
  return text;
}

/** Sends pieces one by one, each in a packet of its own, and gives the contents of the answers. */
async function send(pieces: readonly string[], last: string): Promise<string[]> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const text = await read(socket, last);
  socket.destroy();
  return text.split(/HTTP\/1\.1 200 OK.*?\r\n\r\n/s).slice(1);
}

test('a body is read whole, however it is cut', async () => {
  const request = whole('hello');
  assert.deepEqual(await send([request], '[hello]'), ['[hello]']);
  assert.deepEqual(await send([request.slice(0, -5), 'hello'], '[hello]'), ['[hello]']);
  assert.deepEqual(await send([request.slice(0, -2), 'lo'], '[hello]'), ['[hello]']);
  assert.deepEqual(await send([...request], '[hello]'), ['[hello]']);
  assert.deepEqual(await send([`${HEAD}Content-Length: 00\r\n\r\n`], '[]'), ['[]']);
  const chunked = `${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`;
  assert.deepEqual(await send([chunked], '[hello]'), ['[hello]']);
  assert.deepEqual(await send([...chunked], '[hello]'), ['[hello]']);
});

test('requests behind one another keep their own bodies', async () => {
  const requests = ['one', 'two', 'three'].map(whole).join('');
  assert.deepEqual(await send([requests], '[three]'), ['[one]', '[two]', '[three]']);
  const at = requests.indexOf('two') + 1;
  assert.deepEqual(await send([requests.slice(0, at), requests.slice(at)], '[three]'), ['[one]', '[two]', '[three]']);
});

test('a body beyond the limit is refused, announced or not', async () => {
  assert.deepEqual(await send([whole('x'.repeat(101))], 'too-large'), ['too-large']);
  const chunked = `${HEAD}Transfer-Encoding: chunked\r\n\r\n65\r\n${'x'.repeat(101)}\r\n0\r\n\r\n`;
  assert.deepEqual(await send([chunked], 'too-large'), ['too-large']);
});

test('a client that is gone before its body is complete is told from one that sent all of it', async () => {
  for (const pieces of [[whole('hello').slice(0, -1)], [whole('hello').slice(0, -5), 'h']]) {
    const refused = once(server, 'refused');
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    for (const piece of pieces) await new Promise((resolve) => socket.write(piece, resolve));
    socket.destroy();
    assert.deepEqual(await refused, ['bad-request']);
  }
});
