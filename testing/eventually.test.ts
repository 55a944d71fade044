import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from './eventually.ts';

test('gives the first result that is there', async () => {
  let looks = 0;
  const result = await eventually('three looks', () => {
    looks += 1;
    return looks === 3 ? 'there' : undefined;
  });
  assert.equal(result, 'there');
  assert.equal(looks, 3);
});

test('gives up and says what did not happen', async () => {
  await assert.rejects(
    eventually('the moon turns green', () => false, 30),
    /the moon turns green/,
  );
});
