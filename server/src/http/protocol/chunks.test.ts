import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../problems.ts';
import { createChunkDecoder } from './chunks.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** The content of the pieces, and what is left of the last one behind the body; or the code of the refusal. */
function decode(pieces: readonly string[]): { content: string; behind: string; done: boolean } | string {
  const decoder = createChunkDecoder();
  let content = '';
  let behind = '';
  try {
    for (const piece of pieces) {
      const read = decoder.read(bytesOf(piece), (bytes) => {
        content += bytes.toString('latin1');
      });
      behind += piece.slice(read);
    }
  } catch (error) {
    assert.ok(error instanceof Problem);
    return error.code;
  }
  return { content, behind, done: decoder.done };
}

const good = (content: string, behind = '') => ({ content, behind, done: true });

test('chunks are joined, and what stands behind them is left alone', () => {
  assert.deepEqual(decode(['0\r\n\r\n']), good(''));
  assert.deepEqual(decode(['5\r\nhello\r\n0\r\n\r\n']), good('hello'));
  assert.deepEqual(decode(['A\r\n\r\n\r\n0\r\n\r\nx\r\n00\r\n\r\nGET']), good('\r\n\r\n0\r\n\r\nx', 'GET'));
  assert.deepEqual(decode(['0000000000005\r\nhello\r\n0\r\n\r\n\r\n']), good('hello', '\r\n'));
});

test('a body means the same wherever it is cut in two, and byte by byte', () => {
  const body = '1;a;b=c;d="e \\" f"\r\n\n\r\n0a\r\n0123456789\r\n0\r\nX-A: b\r\nX-B:\r\n\r\n';
  const whole = decode([body]);
  assert.deepEqual(whole, good('\n0123456789'));
  for (let at = 0; at <= body.length; at++) assert.deepEqual(decode([body.slice(0, at), body.slice(at)]), whole);
  assert.deepEqual(decode([...body]), whole);
  assert.deepEqual(decode([...body, 'next']), good('\n0123456789', 'next'));
});

test('what has not come to its end is not done', () => {
  const body = '1\r\na\r\n0\r\nX-A: b\r\n\r\n';
  for (let at = 0; at < body.length; at++) {
    const found = decode([body.slice(0, at)]);
    assert.ok(typeof found === 'object' && !found.done, `${at}`);
  }
});

test('a size is a hexadecimal number and nothing else', () => {
  for (const size of [
    '',
    ' 1',
    '1 ',
    '1\t',
    '+1',
    '-1',
    '0x1',
    '1h',
    '1.0',
    '1,1',
    '00000000000001',
    'fffffffffffffff',
  ]) {
    assert.equal(decode([`${size}\r\na\r\n0\r\n\r\n`]), 'bad-request', size);
  }
  for (const end of ['\n', '\r', '\r\r\n', '\n\r']) {
    assert.equal(decode([`1${end}a\r\n0\r\n\r\n`, '\n']), 'bad-request', JSON.stringify(end));
  }
});

test('an extension that is none ends the reading', () => {
  for (const more of [
    ';',
    '; a',
    ' ;a',
    ';a b',
    ';a=',
    ';a="',
    ';a="b',
    ';a="b"c',
    ';=b',
    ';a="\\"',
    ';\xe9',
    ';a="\0"',
  ]) {
    assert.equal(decode([`1${more}\r\na\r\n0\r\n\r\n`]), 'bad-request', more);
  }
});

test('a chunk has the length that was said, which is noticed at once', () => {
  assert.equal(decode(['1\r\nabc']), 'bad-request');
  assert.equal(decode(['1\r\na', 'b', 'c']), 'bad-request');
  assert.equal(decode(['1\r\na\n']), 'bad-request');
  assert.equal(decode(['1\r\na\rb']), 'bad-request');
  assert.equal(decode(['2\r\na\r\n0\r\n\r\n']), 'bad-request');
});

test('fields behind the last chunk are fields, and none that say where something ends', () => {
  for (const line of ['X', 'X : y', ' X: y', ': y', 'X: a\0', 'X: a\rb', 'X\xe9: y']) {
    assert.equal(decode([`0\r\n${line}\r\n\r\n`]), 'bad-request', line);
  }
  for (const name of ['Content-Length', 'transfer-encoding', 'Connection', 'UPGRADE']) {
    assert.equal(decode([`0\r\n${name}: 1\r\n\r\n`]), 'bad-request', name);
  }
});

test('what comes beside the content is bounded, in one line and in many, also when the line never ends', () => {
  const extension = `;${'x'.repeat(1000)}`;
  assert.deepEqual(decode([`1${extension}\r\na\r\n0\r\n\r\n`]), good('a'));
  assert.equal(decode([`1${extension}\r\na\r\n`.repeat(17)]), 'too-large');
  assert.equal(decode(Array<string>(17).fill('1'.repeat(1000))), 'too-large');
  assert.equal(decode([`0\r\n${'X: y\r\n'.repeat(5000)}`]), 'headers-too-large');
  assert.equal(decode(['0\r\n', ...Array<string>(17).fill('X'.repeat(1000))]), 'headers-too-large');
  assert.deepEqual(decode([`${'1\r\na\r\n'.repeat(20_000)}0\r\n\r\n`]), good('a'.repeat(20_000)));
});
