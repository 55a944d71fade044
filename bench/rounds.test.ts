import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median, quantile, takeTurns } from './rounds.ts';
import { watchStolen } from './stolen.ts';

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

test('a round in which the host took the processors is repeated, but not for ever', async () => {
  const values = [1, 2, 3, 4];
  const contender = { name: 'a', turn: async () => values.shift() ?? Number.NaN };
  // Asked before and after each round.
  const stolen = [0, 0.2, 0, 0, 0, 0.9, 0, 0.9];
  const rounds = await takeTurns(
    [contender],
    2,
    () => {},
    () => stolen.shift() ?? 0,
  );
  assert.deepEqual(rounds.turns.get('a'), [2, 4]);
});

test('the share of the processors that the host took', () => {
  const lines = ['cpu  10 0 10 60 10 0 0 10 0 0', 'cpu  40 0 20 90 10 0 0 40 0 0', ''];
  const stolen = watchStolen(() => lines.shift() ?? '');
  assert.equal(stolen(), 0.3);
  assert.equal(stolen(), 0);
});
