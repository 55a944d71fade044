import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { startWaypost } from '../testing/waypost.ts';

const COMMAND = join(import.meta.dirname, 'waypost.js');

test('the command starts the service and hands signals on', async () => {
  const waypost = await startWaypost({ program: [COMMAND, 'serve'] });
  assert.equal((await fetch(`${waypost.url}/status`)).status, 200);
  assert.equal(await waypost.stop(), 0);
});

test('the command hands the exit code on', () => {
  const { status, stderr } = spawnSync(process.execPath, [COMMAND, 'serve', '--prot', '0'], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.equal(stderr, 'waypost: unknown flag --prot. Did you mean --port? See --help.\n');
});

test('the command tells its version', () => {
  const { status, stdout } = spawnSync(process.execPath, [COMMAND, '--version'], { encoding: 'utf8' });
  assert.equal(status, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\S*\n$/);
});

test('a data folder that cannot be made is told in one line, at once', () => {
  const args = [COMMAND, 'serve', '--port', '0', '--data', '/proc/waypost'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 30_000 });
  assert.equal(status, 1);
  assert.match(stderr, /^waypost: the data folder \/proc\/waypost cannot be written: .*\n$/);
});
