import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tailOf } from './tail.ts';

test('keeps everything while it is little', () => {
  const tail = tailOf(10);
  tail.add('abc');
  tail.add(Buffer.from('def'));
  assert.equal(tail.text(), 'abcdef');
});

test('keeps the newest part, however much comes', () => {
  const tail = tailOf(4);
  for (let number = 0; number < 1000; number += 1) tail.add(String(number % 10));
  assert.equal(tail.text(), '6789');
});
