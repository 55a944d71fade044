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
    assert.equal((await withConnection(database, (sql) => sql`SELECT 1 AS one`))[0]?.one, 1);
    child.kill(signal);
    assert.equal((await ended).code, endings[signal]);
    await eventually('the test process ends', async () => !(await isRunning(Number(pid))));
    await eventually('the database ends', () =>
      withConnection(database, (sql) => sql`SELECT 1`).then(
        () => false,
        (error) => error.code === 'ECONNREFUSED',
      ),
    );
  });
}
