import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cycles } from './cycles.ts';

test('finds nothing where all ways end', () => {
  const edges: [string, string][] = [
    ['a', 'b'],
    ['a', 'c'],
    ['b', 'd'],
    ['c', 'd'],
  ];
  assert.deepEqual(cycles(edges), []);
});

test('finds a circle behind a way that leads into it', () => {
  const edges: [string, string][] = [
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'd'],
    ['d', 'b'],
  ];
  assert.deepEqual(cycles(edges), [['b', 'c', 'd']]);
});

test('finds separate circles and a file that imports itself', () => {
  const edges: [string, string][] = [
    ['a', 'b'],
    ['b', 'a'],
    ['x', 'x'],
  ];
  assert.deepEqual(cycles(edges), [['a', 'b'], ['x']]);
});
