import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRunning } from '../testing/abandoned.fixtures.ts';
import { eventually } from '../testing/eventually.ts';
import { temporaryFolder } from '../testing/folders.ts';
import { withConnection } from '../testing/postgres.ts';
import { tailOf } from '../testing/tail.ts';

/** Starts the test command on one file with the code given. */
function testCommand(name: string, code: string) {
  const folder = temporaryFolder();
  const file = join(folder, name);
  writeFileSync(file, `import { test } from 'node:test';\n${code}`);
  const { NODE_TEST_CONTEXT, WAYPOST_TEST_POSTGRES, ...env } = process.env;
  const child = spawn(process.execPath, [join(import.meta.dirname, 'test.ts'), file], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = tailOf(64 * 1024);
  child.stdout.on('data', output.add);
  child.stderr.on('data', output.add);
  const ended = once(child, 'close').then(([code]) => ({ code, last: output.text().trim().split('\n').at(-1) }));
  return { child, output, ended };
}

test('counts what passed and what failed, and fails when anything did', async () => {
  const good = `test('reaches the database', async () => {
    if (!process.env.WAYPOST_TEST_POSTGRES.startsWith('postgres://')) throw new Error('no database');
  });`;
  const bad = `test('fails', () => { throw new Error('planted'); }); test('is left out', { skip: true }, () => {});`;
  const runs = await Promise.all([
    testCommand('good.test.ts', good).ended,
    testCommand('bad.solo.test.ts', good + bad).ended,
  ]);
  assert.deepEqual(runs, [
    { code: 0, last: '1 passed, 0 failed' },
    { code: 1, last: '1 passed, 2 failed' },
  ]);
});

test('the end of the output names what failed again, with its suites, its place and its error', async () => {
  const code = `import { describe } from 'node:test';
    test('passes', () => {});
    describe('outer', () => {
      test('holds', () => {});
      describe('inner', () => test('breaks', () => { throw new Error('planted\\n' + 'line\\n'.repeat(100)); }));
      test.skip('is left out', () => {});
    });`;
  const { output, ended } = testCommand('bad.test.ts', code);
  assert.deepEqual(await ended, { code: 1, last: '2 passed, 2 failed' });
  const end = output.text().split('\nFailed:\n')[1] ?? assert.fail('nothing was named at the end');
  const [breaks = '', left = '', ...more] = end.split(/^✖ /m).slice(1);
  assert.match(breaks, /^outer > inner > breaks\n {2}at \S*bad\.test\.ts:6\n {2}Error: planted\n/);
  assert.match(breaks, /\n {2}\(\d+ more lines\)\n/);
  assert.equal(breaks.match(/^ {2}line$/gm)?.length, 29);
  assert.match(left, /^outer > is left out\n {2}at \S*bad\.test\.ts:7\n {2}it was left out\n/);
  assert.deepEqual(more, []);
});

test('a file that cannot be loaded and one that ends early are named, too', async () => {
  for (const code of [`import './nothing.ts';`, 'process.exit(3);']) {
    const { output, ended } = testCommand('broken.test.ts', code);
    assert.deepEqual(await ended, { code: 1, last: '0 passed, 1 failed' });
    const end = output.text().split('\nFailed:\n')[1] ?? assert.fail('nothing was named at the end');
    assert.match(end, /^\n✖ .*broken\.test\.ts/);
  }
});

const HANGING = `test('hangs', async () => {
  console.log('pid=' + process.pid + ' database=' + process.env.WAYPOST_TEST_POSTGRES + '.');
  await new Promise((resolve) => setTimeout(resolve, 100_000));
});`;

const endings = { SIGINT: 130, SIGTERM: 130, SIGKILL: null } as const;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
  test(`${signal} ends the tests and their database, too`, async () => {
    const { child, output, ended } = testCommand('hanging.test.ts', HANGING);
    const report = await eventually('the test runs', () => /pid=(\d+) database=(\S+)\.\s/.exec(output.text()));
    const [, pid, database = ''] = report;
    assert.equal((await withConnection(database, (query) => query('SELECT 1 AS one')))[0]?.one, 1);
    child.kill(signal);
    assert.equal((await ended).code, endings[signal]);
    await eventually('the test process ends', async () => !(await isRunning(Number(pid))));
    await eventually('the database ends', () =>
      withConnection(database, (query) => query('SELECT 1')).then(
        () => false,
        (error) => error.code === 'ECONNREFUSED',
      ),
    );
  });
}
