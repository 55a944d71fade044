import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../testing/folders.ts';
import { lineAt, sourceFiles } from './sources.ts';

test('finds what people write and leaves out what machines make', () => {
  const root = temporaryFolder();
  for (const folder of ['docs/deep', 'node_modules/x', 'server/data'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const path of [
    'b.ts',
    'docs/deep/a.md',
    'docs/logo.png',
    'LICENSE',
    'node_modules/x/i.js',
    'server/data/x.db',
  ]) {
    writeFileSync(join(root, path), `this is ${path}`);
  }
  assert.deepEqual(sourceFiles(root), [
    { path: 'LICENSE', text: 'this is LICENSE' },
    { path: 'b.ts', text: 'this is b.ts' },
    { path: 'docs/deep/a.md', text: 'this is docs/deep/a.md' },
    { path: 'docs/logo.png', text: '' },
  ]);
});

test('counts lines from one', () => {
  assert.deepEqual([lineAt('ab\ncd', 0), lineAt('ab\ncd', 2), lineAt('ab\ncd', 3)], [1, 1, 2]);
});
