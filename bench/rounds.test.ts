import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median, quantile, takeTurns } from './rounds.ts';

test('median and quantile', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(quantile([0, 10], 0.99), 9.9);
  assert.ok(Number.isNaN(median([])));
});

test('contenders alternate, and turns are compared with their neighbours', async () => {
  const order: string[] = [];
  const scripted = (name: string, values: number[]) => ({
    name,
    turn: async () => {
      order.push(name);
      return values.shift() ?? Number.NaN;
    },
  });
  // Both slow down together: the ratio of each pair is the same, that of the medians would not show it.
  const rounds = await takeTurns([scripted('a', [5, 50, 10]), scripted('b', [10, 100, 20])], 3, () => {});
  assert.deepEqual(order, ['a', 'b', 'b', 'a', 'a', 'b']);
  assert.deepEqual(rounds.ratio('a', 'b'), { median: 0.5, least: 0.5, most: 0.5 });
  assert.equal(rounds.median('b'), 20);
});
