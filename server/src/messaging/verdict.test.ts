import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readVerdict } from './verdict.ts';

test('verdicts in the words of a form and in the kinds of JSON', () => {
  assert.deepEqual(readVerdict({ acknowledge: 'true' }), { kind: 'acknowledge' });
  assert.deepEqual(readVerdict({ acknowledge: true }), { kind: 'acknowledge' });
  assert.deepEqual(readVerdict({ acknowledge: 'false' }), { kind: 'return', delay: 0 });
  assert.deepEqual(readVerdict({ acknowledge: false, delay: 1.5 }), { kind: 'return', delay: 1.5 });
  assert.deepEqual(readVerdict({ extend: '60' }), { kind: 'extend', by: 60 });
});

test('what says nothing of the delivery cannot be read as a verdict', () => {
  for (const fields of [{}, { worker: 'seven' }, { delay: '5' }]) {
    assert.throws(() => readVerdict(fields), { code: 'bad-body' }, JSON.stringify(fields));
  }
});

test('what says both, goes with nothing or has a value that is none is wrong', () => {
  for (const fields of [
    { delay: 'soon' },
    { acknowledge: 'true', extend: '5' },
    { acknowledge: 'true', delay: '5' },
    { acknowledge: 'perhaps' },
    { extend: '0' },
    { acknowledge: ['true'] },
    { acknowledge: '' },
  ]) {
    assert.throws(() => readVerdict(fields), { code: 'invalid' }, JSON.stringify(fields));
  }
});

test('a misspelt name is told, and one that means something else is left alone', () => {
  assert.throws(() => readVerdict({ acknowledge: 'false', dealy: '60' }), {
    code: 'invalid',
    message: 'dealy is not known here; delay is',
  });
  assert.throws(() => readVerdict({ acknowlege: 'true' }), { message: 'acknowlege is not known here; acknowledge is' });
  assert.throws(() => readVerdict({ Acknowledge: 'true' }), { code: 'bad-body' });
  assert.deepEqual(readVerdict({ acknowledge: 'true', worker: 'seven' }), { kind: 'acknowledge' });
});
