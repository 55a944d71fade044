import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

test('every dependency has its reason written down, and nothing else has', () => {
  type Package = { dependencies: Record<string, string>; devDependencies: Record<string, string> };
  const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Package;
  const explained = [...read('docs/decisions/0010-dependencies.md').matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)];
  const installed = [...Object.keys(dependencies), ...Object.keys(devDependencies)];
  assert.deepEqual(explained.map((match) => match[1]).sort(), installed.sort());
});

test('every decision is in the list of decisions', () => {
  const list = read('docs/decisions/README.md');
  const files = readdirSync(join(ROOT, 'docs/decisions')).filter((file) => file !== 'README.md');
  assert.deepEqual(
    files.filter((file) => !list.includes(`(${file})`)),
    [],
  );
});
