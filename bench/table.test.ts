import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Figure, Scenario, Target } from './scenario.ts';
import { linesOf, tableOf } from './table.ts';

const scenario = (name: string, target?: Target): Scenario => ({
  name,
  about: '',
  run: async () => [],
  ...(target && { target }),
});
const figure = (value: number, more: Partial<Figure> = {}): Figure => ({
  label: '',
  value,
  unit: 'ratio',
  detail: 'd',
  ...more,
});

test('each kind of target is judged, its bound included or not', () => {
  const atLeast = scenario('a', { atLeast: 0.5, text: '' });
  const atMost = scenario('b', { atMost: 1.25, text: '' });
  const below = scenario('c', { below: 400, text: '' });
  const judge = (judged: Scenario, value: number) =>
    linesOf([{ scenario: judged, figures: [figure(value)] }])[0]?.reached;
  assert.deepEqual([judge(atLeast, 0.5), judge(atLeast, 0.49)], [true, false]);
  assert.deepEqual([judge(atMost, 1.25), judge(atMost, 1.26)], [true, false]);
  assert.deepEqual([judge(below, 399.9), judge(below, 400)], [true, false]);
});

test('what has no target is shown without a judgement, what failed is not reached', () => {
  const target = { atLeast: 1, text: 'at least 1' };
  const lines = linesOf([
    { scenario: scenario('known'), figures: [figure(3, { unit: 'ms' })] },
    { scenario: scenario('shown', target), figures: [figure(0, { judged: false, label: 'beside' })] },
    { scenario: scenario('failed', target), figures: [], error: 'no database' },
  ]);
  assert.deepEqual(
    lines.map(({ reached }) => reached),
    [null, null, false],
  );
  const [, , known, shown, failed] = tableOf(lines).split('\n');
  assert.match(known ?? '', /^known +3\.0 ms +d$/);
  assert.match(shown ?? '', /^shown, beside +0\.00 +d$/);
  assert.match(failed ?? '', /^failed +failed +at least 1 +NO +no database$/);
});
