import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../testing/folders.ts';
import { findTestFiles } from './test-files.ts';

function repository(): string {
  const root = temporaryFolder();
  for (const path of [
    'a/x.test.ts',
    'a/b/y.test.ts',
    'a/z.solo.test.ts',
    'h.heavy.test.ts',
    'a/x.ts',
    'node_modules/p/n.test.ts',
  ]) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), '');
  }
  return root;
}

function found(...wanted: string[]) {
  const root = repository();
  const { ordinary, heavy, solo } = findTestFiles(root, wanted);
  return [ordinary, heavy, solo].map((files) => files.map((file) => relative(root, file)));
}

test('finds all test files, apart by what they need', () => {
  assert.deepEqual(found(), [['a/b/y.test.ts', 'a/x.test.ts'], ['h.heavy.test.ts'], ['a/z.solo.test.ts']]);
});

test('takes files, folders and patterns', () => {
  assert.deepEqual(found('a/x.test.ts'), [['a/x.test.ts'], [], []]);
  assert.deepEqual(found('a/b', 'a/b/y.test.ts'), [['a/b/y.test.ts'], [], []]);
  assert.deepEqual(found('**/*.solo.test.ts'), [[], [], ['a/z.solo.test.ts']]);
});

test('does not take a slip of the pen for success', () => {
  assert.throws(() => found('a/nothing.test.ts'), /No test file is named by a\/nothing\.test\.ts/);
});
