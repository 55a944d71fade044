import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { settings } from '../../server/src/config.ts';
import { markdownFiles } from './pages.ts';
import { tableNames, tablesIn, withTables } from './tables.ts';

const pages = markdownFiles().map((file) => ({ file, text: readFileSync(file, 'utf8') }));

test('the tables of the documentation are those of the code', () => {
  for (const { file, text } of pages) {
    assert.equal(text, withTables(text), `${file} is out of date: run "npx node scripts/docs/write-tables.ts"`);
  }
});

test('every table stands somewhere', () => {
  const shown = pages.flatMap(({ text }) => tablesIn(text));
  assert.deepEqual([...shown].sort(), [...tableNames].sort());
});

test('a table nobody knows is not passed over', () => {
  assert.throws(() => withTables('<!-- table: nothing -->\n<!-- end of table -->'), /There is no table "nothing"/);
});

test('flags that the documentation uses exist', () => {
  const known = new Set([...Object.keys(settings), 'help']);
  for (const { file, text } of pages) {
    for (const [line] of text.matchAll(/^.*(?:npm start|waypost serve).*$/gm)) {
      for (const [, flag = ''] of line.matchAll(/ --([a-z][a-z-]+)/g)) {
        assert.ok(known.has(flag), `${file} uses --${flag}, which does not exist`);
      }
    }
  }
});
