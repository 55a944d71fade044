/** How long a connection is waited for in each of its phases, with a clock of the test's own. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import type { Problem } from '../../problems.ts';
import { createBodyBudget } from './body.ts';
import { Connection } from './connection.ts';
import type { Exchange } from './exchange.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Client {
  readonly connection: Connection;
  readonly line: Duplex;
  send(text: string): Promise<void>;
  /** What it was sent, as far as it took it. */
  taken(): string;
  /** From now on it takes this many pieces that are written to it, and no more. */
  take(pieces: number): void;
  /** Looks at the connection as if so many seconds had passed since it was made. */
  after(seconds: number): Promise<void>;
  readonly exchanges: Exchange[];
}

function open(draining = () => false): Client {
  let taken = '';
  let room = Number.POSITIVE_INFINITY;
  const waiting: (() => void)[] = [];
  const line = new Duplex({
    allowHalfOpen: true,
    read() {},
    write(chunk, _encoding, done) {
      waiting.push(() => {
        taken += chunk;
        done();
      });
      flow();
    },
  });
  const flow = (): void => {
    while (room > 0 && waiting.length > 0) {
      room--;
      waiting.shift()?.();
    }
  };
  const exchanges: Exchange[] = [];
  const made = performance.now();
  const connection = new Connection(line as unknown as Socket, {
    maxHeaderSize: 1024,
    bodies: createBodyBudget({ body: 100, buffered: 100 }),
    refusal: (problem) => ({ fields: [], body: Buffer.from(problem.code) }),
    draining,
    dispatch: async (exchange) => {
      exchanges.push(exchange);
      try {
        await exchange.body();
      } catch (error) {
        exchange.answer((error as Problem).status, []);
      }
    },
  });
  return {
    connection,
    line,
    exchanges,
    taken: () => taken,
    take(pieces) {
      room = pieces;
      flow();
    },
    async send(text) {
      line.push(text);
      await nextTurn();
    },
    async after(seconds) {
      connection.checkPatience(made + seconds * 1000);
      await nextTurn();
    },
  };
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

test('a client that says nothing is let go, and cut off when it does not go', async () => {
  const { after, line } = open();
  await after(30);
  assert.equal(line.writableEnded, false);
  await after(32);
  assert.equal(line.writableEnded, true);
  assert.equal(line.destroyed, false);
  await after(35);
  assert.equal(line.destroyed, true);
});

test('who is refused and goes on sending can do so for a while, but not for ever', async (t) => {
  const made = performance.now();
  let seconds = 0;
  t.mock.method(performance, 'now', () => made + seconds * 1000);
  const { after, line, send, taken } = open();
  await send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n');
  assert.match(taken(), /^HTTP\/1\.1 413 /);
  for (; seconds < 29; seconds++) {
    await send('x');
    await after(seconds + 1);
    assert.equal(line.destroyed, false, `${seconds}`);
  }
  await send('x');
  await after(31);
  assert.equal(line.destroyed, true);
});

test('a head that is not complete in time is refused', async () => {
  const { after, line, send, taken } = open();
  await send('GET / HT');
  await after(59);
  assert.equal(taken(), '');
  await after(61);
  assert.match(taken(), /^HTTP\/1\.1 408 .*Connection: close\r\n\r\nrequest-timeout$/s);
  await after(64);
  assert.equal(line.destroyed, true);
});

test('a body that is not complete in time is refused; an answer may take as long as it takes', async () => {
  const slow = open();
  await slow.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell');
  await slow.after(299);
  assert.equal(slow.taken(), '');
  await slow.after(301);
  assert.match(slow.taken(), /^HTTP\/1\.1 408 .*Connection: close\r\n/s);

  const waiting = open();
  await waiting.send(GET);
  await waiting.after(10_000);
  waiting.exchanges[0]?.answer(204, []);
  assert.match(waiting.taken(), /^HTTP\/1\.1 204 .*keep-alive/s);
});

test('a client that leaves its answer lying is cut off, one that takes it slowly is not', async () => {
  const { after, exchanges, line, send, take } = open();
  take(0);
  await send(GET + GET);
  exchanges[0]?.answer(200, [], Buffer.alloc(1024 * 1024));
  assert.equal(exchanges.length, 1);
  await after(1);
  await after(290);
  take(1);
  await after(295);
  await after(590);
  assert.equal(line.destroyed, false);
  await after(596);
  assert.equal(line.destroyed, true);
});

test('a stream that nobody takes is ended, and its writer is told', async () => {
  const { after, exchanges, line, send, take } = open();
  take(0);
  await send(GET);
  const exchange = exchanges[0] as Exchange;
  let told = false;
  exchange.onGone(() => {
    told = true;
  });
  const stream = exchange.open(200, []);
  const written = stream.write('x'.repeat(1024 * 1024));
  await after(1);
  await after(302);
  await written;
  assert.equal(line.destroyed, true);
  assert.equal(told, true);
  assert.equal(stream.gone, true);
});

test('an empty line behind the last request does not hold up the end of the service', async () => {
  let draining = false;
  const { exchanges, line, send } = open(() => draining);
  await send(`${GET}\r\n`);
  draining = true;
  exchanges[0]?.answer(204, []);
  assert.equal(line.writableEnded, true);
});

test('an answer that could not be begun can be given in another way', async () => {
  const { exchanges, send, taken } = open();
  await send(GET);
  const exchange = exchanges[0] as Exchange;
  assert.throws(() => exchange.open(200, ['X-A', 'a\nb']), /X-A/);
  exchange.answer(500, []);
  assert.match(taken(), /^HTTP\/1\.1 500 /);
  await send(GET);
  assert.equal(exchanges.length, 2);
});
