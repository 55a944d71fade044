import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tellFailures } from './failures.ts';

test('nothing failed: nothing is told', () => {
  assert.equal(tellFailures([]), '');
});

test('names everything that failed, a check and a test', () => {
  const told = tellFailures([
    { name: 'types', error: 'see above' },
    { name: 'suite > test', place: 'a/b.test.ts:7', error: 'Error: planted\n    at a/b.test.ts:8:1' },
  ]);
  const lines = [
    'Failed:',
    '',
    '✖ types',
    '  see above',
    '',
    '✖ suite > test',
    '  at a/b.test.ts:7',
    '  Error: planted',
  ];
  assert.equal(told, [...lines, '      at a/b.test.ts:8:1', ''].join('\n'));
});

test('those that have nothing to tell do not take the place of others', () => {
  const cancelled = Array.from({ length: 100 }, (_, index) => ({ name: `test ${index}`, error: '' }));
  assert.match(
    tellFailures([...cancelled, { name: 'last', error: 'Error: the cause' }]),
    /✖ last\n {2}Error: the cause\n$/,
  );
});

test('however much failed, and however much there is to say of it, the end stays readable', () => {
  const failures = Array.from({ length: 500 }, (_, index) => ({
    name: `test ${index}`,
    place: 'x.test.ts:1',
    error: `${'long '.repeat(1000)}\n`.repeat(1000),
  }));
  const told = tellFailures(failures);
  for (const { name } of failures) assert.ok(told.includes(`✖ ${name}\n`), name);
  assert.ok(told.split('\n').every((line) => line.length <= 310));
  assert.ok(told.split('\n').length < 500 * 3 + 20 * 32 + 10, `${told.split('\n').length} lines`);
});
