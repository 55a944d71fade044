import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { crashAfterReport, moduleUrl } from './abandoned.fixtures.ts';
import { eventually } from './eventually.ts';
import { temporaryFolder } from './folders.ts';

test('each folder is new and empty', () => {
  const folder = temporaryFolder();
  assert.notEqual(folder, temporaryFolder());
  assert.deepEqual(readdirSync(folder), []);
});

test('a folder goes with its process', async () => {
  const folder = await crashAfterReport<string>(`
    import { temporaryFolder } from ${moduleUrl('folders.ts')};
    console.log(JSON.stringify(temporaryFolder()));
    setInterval(() => {}, 1000);
  `);
  await eventually('the folder goes', () => !existsSync(folder));
});
