import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromBase36, toBase36 } from './base36.ts';

test('numbers are written as the runtime writes them, and read back', () => {
  const numbers = [0, 1, 35, 36, 36 ** 5 - 1, 36 ** 5, 36 ** 5 + 1, 2 ** 31, 2 ** 32 + 7, Number.MAX_SAFE_INTEGER];
  for (let power = 1; power < 53; power++) numbers.push(2 ** power - 1, Math.floor(2 ** power * 1.37));
  for (const number of numbers) {
    assert.equal(toBase36(number), number.toString(36));
    assert.equal(fromBase36(number.toString(36)), number);
  }
});
