import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../problems.ts';
import { checkBeginning, createHeadReader, parseRequestLine } from './head.ts';

function codeOf(read: () => unknown): string {
  try {
    read();
    return 'none';
  } catch (error) {
    assert.ok(error instanceof Problem);
    return error.code;
  }
}

const read = (text: string) => createHeadReader()(text);

test('a request line has three parts with one space between them', () => {
  assert.deepEqual(parseRequestLine('LINK /a?b HTTP/1.0'), { method: 'LINK', target: '/a?b', version: '1.0' });
  for (const line of ['', ' ', 'GET', 'GET /', 'GET / ', 'GET  / HTTP/1.1', ' GET / HTTP/1.1', 'GET / HTTP/1.1 ']) {
    assert.equal(
      codeOf(() => parseRequestLine(line)),
      'bad-request',
      line,
    );
  }
  for (const line of [
    'GET\t/ HTTP/1.1',
    'GET /\tHTTP/1.1',
    'GET / http/1.1',
    'GET / HTTP/1',
    'GET / HTTP/1.10',
    'G@T / HTTP/1.1',
  ]) {
    assert.equal(
      codeOf(() => parseRequestLine(line)),
      'bad-request',
      line,
    );
  }
});

test('a target is a path, an http URI or the star, without a fragment', () => {
  for (const target of ['/', '//', '/%zz', '/"<>\\^`{|}', '*', 'http://a', 'HTTPS://[::1]:80/x?y', 'http://a?b']) {
    assert.equal(parseRequestLine(`GET ${target} HTTP/1.1`).target, target);
  }
  for (const target of [
    'a',
    'a:80',
    '**',
    '*/',
    '?',
    '#',
    '/a#b',
    'http:/a',
    'http://',
    'http:///a',
    'http://u@a/',
    '/\x7f',
    '/\xe9',
  ]) {
    assert.equal(
      codeOf(() => parseRequestLine(`GET ${target} HTTP/1.1`)),
      'bad-request',
      target,
    );
  }
});

test('an unknown method or version is told from what is no HTTP', () => {
  assert.equal(
    codeOf(() => parseRequestLine('BREW / HTTP/1.1')),
    'method-unknown',
  );
  assert.equal(
    codeOf(() => parseRequestLine('CONNECT a.example:443 HTTP/1.1')),
    'method-unknown',
  );
  assert.equal(
    codeOf(() => parseRequestLine('GET / HTTP/3.0')),
    'version-unknown',
  );
});

test('a later minor version is read as the highest that is known, another major one is not', () => {
  for (const minor of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
    const { version, keepsAlive } = read(`GET / HTTP/1.${minor}`);
    assert.deepEqual([version, keepsAlive], ['1.1', true], `HTTP/1.${minor}`);
  }
  for (const version of ['HTTP/0.9', 'HTTP/2.0', 'HTTP/2.1', 'HTTP/9.2']) {
    assert.equal(
      codeOf(() => parseRequestLine(`GET / ${version}`)),
      'version-unknown',
      version,
    );
  }
  for (const version of ['HTTP/1.10', 'HTTP/1.', 'HTTP/1.x', 'HTTP/1.2 ', 'http/1.2']) {
    assert.equal(
      codeOf(() => parseRequestLine(`GET / ${version}`)),
      'bad-request',
      version,
    );
  }
  assert.equal(
    codeOf(() => parseRequestLine('BREW / HTTP/1.2')),
    'method-unknown',
  );
});

test('a client is kept or let go as it wishes, and as its version has it', () => {
  for (const [version, connection, kept] of [
    ['1.1', undefined, true],
    ['1.1', '', true],
    ['1.1', 'close', false],
    ['1.1', 'a,CLOSE\t, b', false],
    ['1.1', 'closed', true],
    ['1.1', 'keep-alive, close', false],
    ['1.0', undefined, false],
    ['1.0', 'Keep-Alive', true],
    ['1.0', 'keep-alive,close', false],
  ] as const) {
    const field = connection === undefined ? '' : `\r\nConnection: ${connection}`;
    assert.equal(read(`GET / HTTP/${version}${field}`).keepsAlive, kept, `${version} ${connection}`);
  }
});

test('what is the same as last time is remembered, what is not is read', () => {
  const reader = createHeadReader();
  const first = reader('GET / HTTP/1.1\r\nHost: a');
  assert.equal(reader('GET / HTTP/1.1\r\nHost: a'), first);
  const second = reader('GET /x HTTP/1.1\r\nHost: a');
  assert.equal(second.target, '/x');
  assert.equal(second.fields, first.fields);
  assert.equal(reader('GET /x HTTP/1.1\r\nHost: b').headers.host, 'b');
  // The same fields mean something else in another version.
  assert.equal(reader('GET /x HTTP/1.0\r\nHost: b').keepsAlive, false);
  assert.equal(reader('GET /x HTTP/1.1\r\nTransfer-Encoding: chunked').fields.framing, 'chunks');
  assert.equal(
    codeOf(() => reader('GET /x HTTP/1.0\r\nTransfer-Encoding: chunked')),
    'bad-request',
  );
});

test('two requests that take turns are both remembered', () => {
  const reader = createHeadReader();
  const poll = 'POST /poller HTTP/1.1\r\nHost: a\r\nContent-Length: 0';
  const acknowledge = (n: number) => `POST /acknowledgement/${n} HTTP/1.1\r\nHost: a\r\nContent-Length: 16`;
  const polled = reader(poll);
  const { fields } = reader(acknowledge(1));
  for (let n = 2; n < 5; n++) {
    assert.equal(reader(poll), polled);
    const head = reader(acknowledge(n));
    assert.deepEqual([head.target, head.fields === fields], [`/acknowledgement/${n}`, true]);
  }
  assert.equal(reader(acknowledge(5)).fields, fields);
  assert.equal(reader(poll), polled);
  // Of three the one that was used longest ago is read anew.
  reader('GET / HTTP/1.1\r\nHost: a');
  assert.equal(reader(poll), polled);
  assert.notEqual(reader(acknowledge(5)).fields, fields);
});

test('a large head is not held while its connection is idle', () => {
  const reader = createHeadReader();
  const large = `GET / HTTP/1.1\r\nX-A: ${'x'.repeat(5000)}`;
  assert.notEqual(reader(large), reader(large));
});

test('a beginning that cannot become a head is refused at its first wrong byte, however it comes', () => {
  for (const [good, bad] of [
    ['GET / HTTP/1.1', '\n'],
    ['GET / HTTP/1.1\r', 'X'],
    ['GET / HTTP/1.1\r', '\r'],
    ['GET / HTTP/1.1\r\nHost: a', '\0'],
    ['GET / HTTP/1.1\r\nHost: a', '\n'],
    ['GET / HTTP/1.1\r\nHost: a\r', ' '],
    ['GET / HTTP/1.1\r\nHost: a\r\nX', '\x7f'],
    ['GET / HTTP/1.1\r\nHost: a\r\n', '\n'],
    ['GET  / HTTP/1.1\r', '\n'],
    ['BREW / HTTP/1.1\r', '\n'],
  ] as const) {
    const bytes = Buffer.from(good + bad, 'latin1');
    // As a connection does it: three bytes are looked at again.
    for (let length = 1; length <= good.length; length++) {
      assert.equal(
        codeOf(() => checkBeginning(bytes.subarray(0, length), Math.max(0, length - 4))),
        'none',
        good,
      );
    }
    assert.notEqual(
      codeOf(() => checkBeginning(bytes, Math.max(0, good.length - 3))),
      'none',
      good,
    );
    assert.notEqual(
      codeOf(() => checkBeginning(bytes, 0)),
      'none',
      good,
    );
  }
});
