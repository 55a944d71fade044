import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SourceFile } from './sources.ts';
import { MOST_LINES, styleFaults } from './style.ts';

const found = (...files: SourceFile[]) => styleFaults(files).map(({ file, line }) => `${file}:${line}`);

describe('length', () => {
  const lines = (count: number) => 'x\n'.repeat(count);
  test('the longest source file allowed', () => {
    assert.deepEqual(found({ path: 'a.ts', text: lines(MOST_LINES) }), []);
  });
  test('one line more', () => {
    assert.deepEqual(found({ path: 'a.ts', text: lines(MOST_LINES + 1) }), [`a.ts:${MOST_LINES + 1}`]);
  });
  test('prose may be longer', () => {
    assert.deepEqual(found({ path: 'a.md', text: lines(MOST_LINES + 1) }), []);
  });
});

describe('idle tests', () => {
  // Written in pieces, so that the check does not find them here.
  for (const word of ['skip', 'only', 'todo']) {
    test(`test.${word}`, () => {
      assert.deepEqual(found({ path: 'a.test.ts', text: `\ntest.${word}('x', () => {});` }), ['a.test.ts:2']);
    });
    test(`the option ${word}`, () => {
      assert.deepEqual(found({ path: 'a.test.ts', text: `test('x', { ${word}: true }, () => {});` }), ['a.test.ts:1']);
    });
  }
  test('the words in a text are fine', () => {
    assert.deepEqual(found({ path: 'a.test.ts', text: "test('test.skip { only: true }', () => {}); // it.todo" }), []);
  });
  test('other uses of the words are fine', () => {
    assert.deepEqual(found({ path: 'a.ts', text: 'cursor.skip(3); todo.only()' }), []);
  });
});

describe('forbidden words', () => {
  const slash = '/';
  for (const path of ['work/x', 'root/x', 'Users/x', 'tmp/brief']) {
    test(`a machine's path: ${path}`, () => {
      assert.deepEqual(found({ path: 'a.md', text: `one\nsee ${slash}${path}.md` }), ['a.md:2']);
    });
  }
  test('paths of addresses and of the repository are fine', () => {
    const text = `http://host${slash}work/x docs${slash}work/x ${slash}workshop/x`;
    assert.deepEqual(found({ path: 'a.ts', text }), []);
  });
  test('a to-do needs a text', () => {
    const word = 'TO'.concat('DO');
    assert.deepEqual(found({ path: 'a.ts', text: `// ${word}\n// ${word}:\n// ${word}: count the rooms` }), [
      'a.ts:1',
      'a.ts:2',
    ]);
  });
});

describe('decisions', () => {
  test('are named by number and title', () => {
    assert.deepEqual(found({ path: 'docs/decisions/0007-one-route-table.md', text: '' }), []);
  });
  for (const name of ['7-one.md', '0007_one.md', '0007-One.md', 'notes.md', '0007-one.txt']) {
    test(`not ${name}`, () => assert.equal(found({ path: `docs/decisions/${name}`, text: '' }).length, 1));
  }
});

describe('links in Markdown', () => {
  const others: SourceFile[] = [
    { path: 'README.md', text: '' },
    { path: 'docs/b c.md', text: '' },
  ];
  const page = (text: string) => found({ path: 'docs/a.md', text }, ...others);
  test('to files and folders that are there', () => {
    assert.deepEqual(
      page('[1](../README.md#top) [2](b%20c.md "t") [3](../docs/) [4]: x\n\n[5]: ../README.md\n[6](/docs)'),
      [],
    );
  });
  test('to other places', () => {
    assert.deepEqual(page('[1](https://example.org/x) [2](#part) [3](mailto:a@b.example)'), []);
  });
  test('in code are none', () => {
    assert.deepEqual(page('`[1](no.md)`\n```\n[2](no.md)\n```\n'), []);
  });
  test('to files that are not there', () => {
    assert.deepEqual(page('x\n[1](no.md)'), ['docs/a.md:2']);
    assert.deepEqual(page('x [1][n]\n\n[n]: ../no/way.md'), ['docs/a.md:3']);
    assert.deepEqual(page('![picture](no.png)'), ['docs/a.md:1']);
  });
});
