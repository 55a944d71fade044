import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../problems.ts';
import { parseFields } from './fields.ts';

const parse = (...lines: string[]) => parseFields(lines.join('\r\n'));

function refused(...lines: string[]): void {
  assert.throws(
    () => parse(...lines),
    (error: unknown) => error instanceof Problem && error.code === 'bad-request',
    JSON.stringify(lines),
  );
}

test('names and values are kept as they were sent, without the blanks around a value', () => {
  const { raw, headers } = parse('X-A: b', 'x-a:\t c d \t', 'X-Empty:', 'X-Blank: \t ', "!#$%&'*+.^_`|~-9: :");
  assert.deepEqual(raw, ['X-A', 'b', 'x-a', 'c d', 'X-Empty', '', 'X-Blank', '', "!#$%&'*+.^_`|~-9", ':']);
  assert.equal(headers['x-a'], 'b, c d');
  assert.equal(headers['x-blank'], '');
  assert.deepEqual(parseFields('').raw, []);
});

test('only blanks are cut off: other white space belongs to the value, or is none HTTP allows', () => {
  assert.equal(parse('X: \xa0b\xa0').headers.x, '\xa0b\xa0');
  for (const space of ['\v', '\f', '\r', '\n', '\0', '\x85\0']) refused(`X: b${space}`);
});

test('a name may be that of anything in the language', () => {
  const { headers } = parse('__proto__: a', 'constructor: b', 'toString: c');
  assert.deepEqual(Object.entries(headers), [
    ['__proto__', 'a'],
    ['constructor', 'b'],
    ['tostring', 'c'],
  ]);
  assert.equal(parse('X: y').headers.constructor, undefined);
});

test('a line that is no field is refused', () => {
  for (const line of [
    'X',
    ':',
    ': x',
    ' X: y',
    '\tX: y',
    'X : y',
    'X\t: y',
    'X Y: z',
    'X\xe9: y',
    'X\0: y',
    '"X": y',
    '',
  ]) {
    refused('Host: a', line, 'X-Behind: b');
  }
});

test('of fields that can have one value the first counts; Host must stand alone', () => {
  assert.equal(parse('Content-Type: a', 'content-type: b').headers['content-type'], 'a');
  assert.equal(parse('Authorization: a', 'Authorization: b').headers.authorization, 'a');
  assert.equal(parse('Cookie: a=b', 'Cookie: c=d').headers.cookie, 'a=b; c=d');
  refused('Host: a', 'host: a');
  refused('Host:', 'Host:');
});

test('where a request ends is said once and clearly', () => {
  assert.equal(parse('Host: a').framing, 'nothing');
  assert.equal(parse('Content-Length: 0').framing, 'nothing');
  assert.equal(parse('Content-Length: 007').framing, 7);
  assert.equal(parse('Content-Length: \t7 ').framing, 7);
  assert.equal(parse('Content-Length: 9007199254740991').framing, Number.MAX_SAFE_INTEGER);
  assert.equal(parse('transfer-encoding: Chunked').framing, 'chunks');
  for (const length of ['', '-1', '+1', '1.0', '1e3', '0x1', '1 1', '1,1', '1;', '9007199254740992', '\xb2', '1_0']) {
    refused(`Content-Length: ${length}`);
  }
  refused('Content-Length: 1', 'Content-Length: 1');
  refused('Content-Length: 0', 'content-length: 0');
  for (const coding of [
    '',
    'identity',
    'gzip',
    'chunked, chunked',
    'gzip, chunked',
    'chunked;a=b',
    '"chunked"',
    ',chunked',
  ]) {
    refused(`Transfer-Encoding: ${coding}`);
  }
  refused('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked');
  refused('Transfer-Encoding: chunked', 'Transfer-Encoding:');
  refused('Content-Length: 0', 'Transfer-Encoding: chunked');
});

test('fields are bounded in number', () => {
  const many = (count: number): string => Array<string>(count).fill('a:').join('\r\n');
  assert.equal(parseFields(many(1000)).raw.length, 2000);
  assert.throws(
    () => parseFields(many(1001)),
    (error: unknown) => error instanceof Problem && error.code === 'headers-too-large',
  );
});
