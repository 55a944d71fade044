import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { crashAfterReport, isRunning, moduleUrl } from './abandoned.fixtures.ts';
import { eventually } from './eventually.ts';

const SLEEPER = `spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })`;

test('ends processes and removes folders of a process that was killed outright', async () => {
  const { pid, folder } = await crashAfterReport<{ pid: number; folder: string }>(`
    import { spawn } from 'node:child_process';
    import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    import { guardFolder, guardProcess } from ${moduleUrl('guard.ts')};
    const folder = mkdtempSync(tmpdir() + "/waypost-test-it's ");
    guardFolder(folder);
    mkdirSync(folder + '/inner');
    writeFileSync(folder + '/inner/file', 'x');
    const child = ${SLEEPER};
    guardProcess(child.pid);
    console.log(JSON.stringify({ pid: child.pid, folder }));
  `);
  await eventually('the guarded process ends', async () => !(await isRunning(pid)));
  await eventually('the guarded folder goes', () => !existsSync(folder));
});

test('leaves alone what was released', async () => {
  const { kept, guarded } = await crashAfterReport<{ kept: number; guarded: number }>(`
    import { spawn } from 'node:child_process';
    import { guardProcess } from ${moduleUrl('guard.ts')};
    const kept = ${SLEEPER};
    const guarded = ${SLEEPER};
    const release = guardProcess(kept.pid);
    guardProcess(guarded.pid);
    release();
    console.log(JSON.stringify({ kept: kept.pid, guarded: guarded.pid }));
  `);
  try {
    await eventually('the guarded process ends', async () => !(await isRunning(guarded)));
    assert.equal(await isRunning(kept), true);
  } finally {
    process.kill(kept, 'SIGKILL');
  }
});
