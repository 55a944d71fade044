import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from './folders.ts';
import { isAsExpected, readTranscript, runTranscript } from './transcripts.ts';

const page = (...lines: string[]): string => ['# Page', '```console', ...lines, '```', 'More.'].join('\n');
const run = (...lines: string[]): Promise<void> =>
  runTranscript(readTranscript(page(...lines)), { base: 'http://127.0.0.1:18080', folder: temporaryFolder() });

test('reads commands, their continuations and what they print', () => {
  const other = '```sh\n$ not this\n```\n';
  assert.deepEqual(readTranscript(other + page('$ one', 'out', '', '$ two <<END', '> more', '> END', 'out', '> out')), [
    { line: 6, command: 'one', expected: ['out', ''] },
    { line: 9, command: 'two <<END\nmore\nEND', expected: ['out', '> out'] },
  ]);
  assert.throws(() => readTranscript(page('out')), /Line 3 of a console block belongs to no command/);
});

test('reads commands that are to be pasted, and what the last of them prints', () => {
  const pasted = ['```sh run', 'one', 'two', '```', '', '```text printed', 'out', '```', '```text', 'other', '```'];
  assert.deepEqual(readTranscript(pasted.join('\n')), [
    { line: 2, command: 'one', expected: [] },
    { line: 3, command: 'two', expected: ['out'] },
  ]);
  assert.throws(() => readTranscript(['```text printed', 'out', '```'].join('\n')), /belongs to no command/);
});

test('compares line by line, with wildcards', () => {
  const fits = (expected: string, actual: string) => isAsExpected(expected.split('\n'), actual.split('\n'));
  assert.ok(fits('a\nb', 'a\nb'));
  assert.ok(fits('Date: …, 2026', 'Date: Monday, 2026'));
  assert.ok(fits('…\nb\n…\nd', 'a\na\nb\nd'));
  assert.ok(fits('a.c', 'a.c'));
  assert.ok(!fits('a', 'a\nb'));
  assert.ok(!fits('a\nb', 'a'));
  assert.ok(!fits('a.c', 'abc'));
  assert.ok(!fits('…\nb', 'a\nb\nc'));
  assert.ok(!fits('x…', 'a'));
});

test('runs a page in one shell and shows it the address of the service', async () => {
  await run(
    '$ name=world; greet() { echo "hello $1"; }',
    '$ greet $name > file; cat file',
    'hello world',
    '$ echo http://localhost:8080/',
    'http://localhost:8080/',
    '$ echo http://localhost:8080/ | tr 0-9 x',
    'http://localhost:xxxxx/',
    '$ printf "no end\\r"; echo to stderr >&2',
    'no endto stderr',
    '$ cat <<END',
    '> $name',
    '> END',
    'world',
  );
});

test('tells which line is wrong, and how', async () => {
  await assert.rejects(
    run('$ true', '$ echo one', 'two'),
    /^Error: line 4: printed something else.*\n\$ echo one\none\n/,
  );
  await assert.rejects(run('$ echo one'), /line 3: printed something else/);
  await assert.rejects(run('$ true', 'one'), /line 3: printed something else/);
  await assert.rejects(run('$ (exit 3)'), /line 3: ended with exit code 3/);
  await assert.rejects(run('$ exit 3'), /the shell has ended/);
});
