/** HTTP/1.1 as it stands on the wire, without the rest of the service. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { Problem } from '../../problems.ts';
import { type Listener, listen } from '../listener.ts';
import { createBodyBudget } from './body.ts';
import type { Exchange, OpenAnswer } from './exchange.ts';

let listener: Listener;
/** Those that are not answered by themselves. */
const held: Exchange[] = [];
let arrived = (): void => {};

/** Answers with the body, as soon as there is one; holds back what is for /hold, and waits for no body at /early. */
async function dispatch(exchange: Exchange): Promise<void> {
  if (exchange.head.target === '/early') {
    exchange.answer(404, []);
    return;
  }
  if (exchange.head.target === '/stream') {
    streamed(exchange.open(200, []));
    return;
  }
  try {
    const body = await exchange.body();
    if (exchange.head.target === '/hold') {
      held.push(exchange);
      arrived();
    } else exchange.answer(200, [], Buffer.from(`[${body}]`));
  } catch (error) {
    const code = error instanceof Problem ? error.code : 'fault';
    refusals.push(code);
    exchange.answer(200, [], Buffer.from(code));
  }
}
const refusals: string[] = [];

let streamed = (_answer: OpenAnswer): void => {};
const nextStream = (): Promise<OpenAnswer> =>
  new Promise((resolve) => {
    streamed = resolve;
  });

before(async () => {
  listener = await listen({
    host: '127.0.0.1',
    port: 0,
    base: undefined,
    maxHeaderSize: 1024,
    bodies: createBodyBudget({ body: 100, buffered: 150 }),
    dispatch,
  });
});
after(() => listener.close(1000));

async function nextHeld(): Promise<Exchange> {
  if (held.length === 0) {
    await new Promise<void>((resolve) => {
      arrived = resolve;
    });
  }
  return held.shift() as Exchange;
}

const HEAD = 'POST / HTTP/1.1\r\nHost: here\r\n';
const whole = (body: string, head = HEAD): string => `${head}Content-Length: ${body.length}\r\n\r\n${body}`;

async function open(allowHalfOpen = false): Promise<Socket> {
  const socket = connect({ port: listener.port, host: '127.0.0.1', noDelay: true, allowHalfOpen });
  await once(socket, 'connect');
  return socket;
}

/** Reads until the last of the answers has come, or the server says goodbye. */
async function read(socket: Socket, last?: string): Promise<string> {
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (last !== undefined && text.endsWith(last)) break;
  }
  return text;
}

/** Writes pieces one by one, each in a packet of its own. */
async function write(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const contentsOf = (text: string): string[] => text.split(/HTTP\/1\.1 200 OK.*?\r\n\r\n/s).slice(1);

async function send(pieces: readonly string[], last: string): Promise<string[]> {
  const socket = await open();
  await write(socket, pieces);
  const text = await read(socket, last);
  socket.destroy();
  return contentsOf(text);
}

test('a body is read whole, however it is cut', async () => {
  const request = whole('hello');
  assert.deepEqual(await send([request], '[hello]'), ['[hello]']);
  assert.deepEqual(await send([request.slice(0, -5), 'hello'], '[hello]'), ['[hello]']);
  assert.deepEqual(await send([request.slice(0, -2), 'lo'], '[hello]'), ['[hello]']);
  assert.deepEqual(await send([...request], '[hello]'), ['[hello]']);
  assert.deepEqual(await send([`${HEAD}Content-Length: 00\r\n\r\n`], '[]'), ['[]']);
  const chunked = `${HEAD}Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nX-Behind: it\r\n\r\n`;
  assert.deepEqual(await send([chunked], '[hello]'), ['[hello]']);
  assert.deepEqual(await send([...chunked], '[hello]'), ['[hello]']);
});

test('requests behind one another keep their own bodies', async () => {
  const requests = ['one', 'two', 'three'].map((body) => whole(body)).join('');
  assert.deepEqual(await send([requests], '[three]'), ['[one]', '[two]', '[three]']);
  assert.deepEqual(await send([...requests], '[three]'), ['[one]', '[two]', '[three]']);
  const at = requests.indexOf('two') + 1;
  assert.deepEqual(await send([requests.slice(0, at), requests.slice(at)], '[three]'), ['[one]', '[two]', '[three]']);
});

test('a request is begun when the one before it has its answer', async () => {
  const socket = await open();
  const hold = (body: string): string => whole(body, 'POST /hold HTTP/1.1\r\nHost: here\r\n');
  socket.write(hold('first') + hold('second') + whole('third'));
  const first = await nextHeld();
  assert.equal(held.length, 0);
  first.answer(200, [], Buffer.from('first'));
  const second = await nextHeld();
  assert.equal(await second.body(), await second.body());
  second.answer(200, [], Buffer.from('second'));
  second.answer(200, [], Buffer.from('again'));
  assert.deepEqual(contentsOf(await read(socket, '[third]')), ['first', 'second', '[third]']);
  socket.destroy();
});

test('a body beyond the limit is refused, announced or not, and nothing behind it is read', async () => {
  const chunked = `${HEAD}Transfer-Encoding: chunked\r\n\r\n65\r\n${'x'.repeat(101)}\r\n0\r\n\r\n`;
  for (const request of [whole('x'.repeat(101)), chunked]) {
    const socket = await open();
    socket.write(request + whole('behind'));
    assert.deepEqual(contentsOf(await read(socket)), ['too-large']);
  }
});

test('the bodies of all together are bounded, and those that are done no longer count', async () => {
  const waiting = await open();
  waiting.write(`${HEAD}Content-Length: 90\r\n\r\n${'x'.repeat(89)}`);
  for (;;) {
    const [content] = await send([`${HEAD}Content-Length: 80\r\n\r\n`, 'x'.repeat(80)], '');
    if (content === 'busy') break;
  }
  waiting.write('x');
  await read(waiting, ']');
  waiting.destroy();
  assert.deepEqual(await send([`${HEAD}Content-Length: 80\r\n\r\n`, 'x'.repeat(80)], ']'), [`[${'x'.repeat(80)}]`]);
});

test('a body that nobody waits for does not count, either', async () => {
  for (let round = 0; round < 3; round++) {
    for (const framing of ['Content-Length: 90', 'Transfer-Encoding: chunked']) {
      const socket = await open();
      socket.write(`POST /early HTTP/1.1\r\nHost: here\r\n${framing}\r\n\r\n50\r\n${'x'.repeat(60)}`);
      assert.match(await read(socket), /^HTTP\/1\.1 404 .*Connection: close\r\n/s);
      socket.destroy();
    }
  }
  assert.deepEqual(await send([`${HEAD}Content-Length: 80\r\n\r\n`, 'x'.repeat(80)], ']'), [`[${'x'.repeat(80)}]`]);
});

test('what is left of a body behind an answer that goes on is no request', async () => {
  const socket = await open();
  socket.write(`POST /stream HTTP/1.1\r\nHost: here\r\nContent-Length: 90\r\n\r\n`);
  const answer = await nextStream();
  socket.write('GET /hold HTTP/1.1\r\nHost: here\r\n\r\n');
  await answer.write('x');
  await send([whole('another connection')], ']');
  answer.end();
  assert.match(await read(socket), /Connection: close\r\n\r\n1\r\nx\r\n0\r\n\r\n$/);
  assert.equal(held.length, 0);
});

test('a client that is gone before its body is complete is told from one that sent all of it', async () => {
  for (const pieces of [[whole('hello').slice(0, -1)], [whole('hello').slice(0, -5), 'h']]) {
    refusals.length = 0;
    const socket = await open();
    await write(socket, pieces);
    socket.destroy();
    while (refusals.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(refusals, ['bad-request']);
  }
});

test('who has said goodbye can still read its answers', async () => {
  const socket = await open(true);
  socket.end(whole('one') + whole('two'));
  assert.deepEqual(contentsOf(await read(socket)), ['[one]', '[two]']);
  socket.destroy();
});

test('who waits and says goodbye is gone; who does not wait is not', async () => {
  const socket = await open(true);
  socket.write('GET /hold HTTP/1.1\r\nHost: here\r\n\r\n');
  const exchange = await nextHeld();
  const gone = new Promise<void>((resolve) => {
    exchange.onGone(resolve);
  });
  assert.equal(exchange.gone, false);
  socket.end();
  await gone;
  assert.equal(exchange.gone, true);
  exchange.answer(204, []);
  assert.match(await read(socket), /^HTTP\/1\.1 204 No Content\r\n.*Connection: close\r\n\r\n$/s);
  socket.destroy();

  const other = await open(true);
  other.end('GET /hold HTTP/1.1\r\nHost: here\r\n\r\n');
  assert.equal((await nextHeld()).gone, false);
  other.destroy();
});

test('a body is asked for when it is wanted, and not before', async () => {
  const socket = await open();
  socket.write(`${HEAD}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`);
  assert.equal(await read(socket, '\r\n\r\n'), 'HTTP/1.1 100 Continue\r\n\r\n');
  socket.write('hello');
  assert.deepEqual(contentsOf(await read(socket, ']')), ['[hello]']);
  socket.write(`${HEAD}Expect: 100-continue\r\nContent-Length: 500\r\n\r\n`);
  assert.deepEqual(contentsOf(await read(socket)), ['too-large']);
});

test('HTTP/1.0 and whoever asks for it gets one answer', async () => {
  for (const [line, connection, answers] of [
    ['HTTP/1.0', '', 1],
    ['HTTP/1.0', 'Connection: keep-alive\r\n', 2],
    ['HTTP/1.1', '', 2],
    ['HTTP/1.1', 'Connection: close\r\n', 1],
    ['HTTP/1.1', 'Connection: TE, Close\r\n', 1],
  ] as const) {
    const socket = await open(true);
    socket.end(`GET / ${line}\r\nHost: here\r\n${connection}\r\n`.repeat(2));
    assert.equal(contentsOf(await read(socket)).length, answers, `${line} ${connection}`);
    socket.destroy();
  }
});

test('a stream is cut into chunks, and ends its connection where there are none', async () => {
  for (const [version, pattern] of [
    ['1.1', /Transfer-Encoding: chunked\r\n.*\r\n\r\n4\r\none\n\r\n4\r\nzw\u00c3\u00b6\r\n0\r\n\r\n$/s],
    ['1.0', /Connection: close\r\n\r\none\nzw\u00c3\u00b6$/],
  ] as const) {
    const socket = await open();
    socket.setEncoding('latin1');
    socket.write(`GET /hold HTTP/${version}\r\nHost: here\r\nConnection: close\r\n\r\n`);
    const answer = (await nextHeld()).open(200, ['Content-Type', 'text/plain']);
    await answer.write('one\n');
    await answer.write('zwö');
    answer.end();
    await answer.write('too late');
    assert.match(await read(socket), pattern);
  }
});

test('a stream that fails is not taken for complete', async () => {
  const socket = await open();
  socket.write('GET /hold HTTP/1.1\r\nHost: here\r\n\r\n');
  const answer = (await nextHeld()).open(200, []);
  await answer.write('half of it');
  answer.abort();
  answer.end();
  await answer.write('more');
  assert.match(await read(socket), /half of it\r\n$/);
});

test('a value that would break out of its field is never written', async () => {
  const socket = await open();
  socket.write('GET /hold HTTP/1.1\r\nHost: here\r\n\r\n');
  const exchange = await nextHeld();
  for (const value of ['a\r\nX-Mine: b', 'a\nb', '\0', 'ł']) {
    assert.throws(() => exchange.answer(200, ['X-A', value]), /X-A/);
  }
  exchange.answer(204, ['X-A', 'é']);
  assert.match(await read(socket, '\r\n\r\n'), /^HTTP\/1\.1 204 No Content\r\nX-A: /);
  socket.destroy();
});

test('a client that does not take its answers is given no more of them', async () => {
  const socket = await open();
  socket.pause();
  const large = Buffer.alloc(16 * 1024 * 1024, 'x');
  socket.write('GET /hold HTTP/1.1\r\nHost: here\r\n\r\n'.repeat(2));
  (await nextHeld()).answer(200, [], large);
  await send([whole('another connection')], ']');
  assert.equal(held.length, 0);
  socket.resume();
  socket.on('data', () => {});
  (await nextHeld()).answer(204, []);
  socket.destroy();
});

test('who waits is told when so much has come behind it that its client would not be seen to leave', async () => {
  const socket = await open();
  const hold = 'GET /hold HTTP/1.1\r\nHost: here\r\n\r\n';
  socket.write(hold);
  const first = await nextHeld();
  assert.equal(first.unwatched, false);
  const unwatched = new Promise<void>((resolve) => {
    first.onUnwatched(resolve);
  });
  let untold = true;
  first.onUnwatched(() => {
    untold = false;
  })();
  socket.write(hold + whole('x').repeat(3000) + hold);
  await unwatched;
  assert.deepEqual([first.unwatched, first.gone, untold], [true, false, true]);
  first.answer(204, []);
  const second = await nextHeld();
  assert.equal(second.unwatched, true, 'the rest is still too much');
  second.answer(204, []);
  socket.resume();
  const third = await nextHeld();
  assert.equal(third.unwatched, false);
  third.answer(204, []);
  socket.destroy();
});

test('what a client sends without end behind a request that waits is left with the client', async () => {
  const socket = await open();
  socket.write('GET /hold HTTP/1.1\r\nHost: here\r\n\r\n');
  const exchange = await nextHeld();
  const many = 200_000;
  let taken = 0;
  const request = whole('x');
  const sending = (async () => {
    for (; taken < many; taken++) if (!socket.write(request)) await once(socket, 'drain');
  })();
  // What the system itself takes on both sides is a few megabytes, far less than all of it.
  for (let before = -1; before !== taken; ) {
    before = taken;
    for (let round = 0; round < 20; round++) await send([whole('another connection')], ']');
  }
  assert.ok(taken < many, `all ${many} were taken`);
  exchange.answer(204, []);
  let count = 0;
  let carried = '';
  for await (const chunk of socket) {
    const parts = (carried + chunk).split('[x]');
    count += parts.length - 1;
    carried = parts.at(-1)?.slice(-2) ?? '';
    if (count === many) break;
  }
  await sending;
  socket.destroy();
});
