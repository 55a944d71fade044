import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFields, remembering } from './input.ts';
import type { Request } from './request.ts';

const FORM = 'application/x-www-form-urlencoded';

const sent = (type: string | undefined, body: string | Buffer, more: Record<string, string> = {}): Request =>
  ({ headers: { ...(type !== undefined && { 'content-type': type }), ...more }, body: Buffer.from(body) }) as Request;

/** A reader, and how often it has read. */
function counted() {
  const seen = { count: 0 };
  const read = remembering((request) => {
    seen.count++;
    return readFields(request, { element: 'verdict' });
  });
  return { read, seen };
}

test('short bodies are read once', () => {
  const { read, seen } = counted();
  for (let i = 0; i < 3; i++) {
    assert.deepEqual({ ...read(sent(FORM, 'acknowledge=true')) }, { acknowledge: 'true' });
    assert.deepEqual({ ...read(sent('application/json', '{"acknowledge":true}')) }, { acknowledge: true });
    assert.deepEqual({ ...read(sent(FORM, '')) }, {});
  }
  assert.equal(seen.count, 3);
});

test('the same bytes under another type are another body', () => {
  const { read } = counted();
  assert.deepEqual({ ...read(sent(FORM, 'a=1')) }, { a: '1' });
  assert.throws(() => read(sent('application/json', 'a=1')), { code: 'bad-body' });
  assert.throws(() => read(sent('text/plain', 'a=1')), { code: 'unsupported-media-type' });
  assert.throws(() => read(sent(undefined, `${FORM}\na=1`)), { code: 'unsupported-media-type' });
  assert.throws(() => read(sent(FORM, 'a=1', { 'content-encoding': 'gzip' })), { code: 'unsupported-media-type' });
  assert.deepEqual({ ...read(sent(FORM, 'a=\u00e4')) }, { a: '\u00e4' });
  assert.throws(() => read(sent(FORM, Buffer.from('a=\u00e4', 'latin1'))), { code: 'bad-body' });
});

test('what cannot be read is refused each time, and long or many bodies are not kept', () => {
  const { read, seen } = counted();
  for (let i = 0; i < 2; i++) assert.throws(() => read(sent(FORM, 'a=%zz')), { code: 'bad-body' });
  assert.equal(seen.count, 2);
  const long = `a=${'x'.repeat(200)}`;
  for (let i = 0; i < 2; i++) assert.equal(read(sent(FORM, long)).a, 'x'.repeat(200));
  assert.equal(seen.count, 4);
  for (let i = 0; i < 1000; i++) assert.equal(read(sent(FORM, `a=${i}`)).a, String(i));
  assert.equal(read(sent(FORM, 'a=7')).a, '7');
});
