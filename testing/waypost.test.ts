import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { crashAfterReport, isRunning, moduleUrl } from './abandoned.fixtures.ts';
import { eventually } from './eventually.ts';
import { temporaryFolder } from './folders.ts';
import { request } from './http.ts';
import { startWaypost } from './waypost.ts';

// The harness is tried on a stand-in that keeps to the same few rules as the service: one line when ready, ends on SIGTERM.
function standIn(code: string): string[] {
  const file = join(temporaryFolder(), 'stand-in.mjs');
  writeFileSync(file, code);
  return [file];
}

const SERVICE = `
import { createServer } from 'node:http';
const about = () => JSON.stringify({ args: process.argv.slice(2), env: process.env });
const server = createServer((request, response) => response.end(about()));
server.listen(0, '127.0.0.1', () => {
  console.error('{"msg":"starting"}');
  console.log('Waypost is listening on http://127.0.0.1:' + server.address().port);
});
process.on('SIGTERM', () => { console.log('stopping'); process.exit(7); });
`;

type About = { args: string[]; env: Record<string, string> };

test('starts a process, talks to it and stops it', async () => {
  const waypost = await startWaypost({ program: standIn(SERVICE), args: ['--log-level', 'debug'], data: 'somewhere' });
  const answer = await request(waypost.url);
  assert.deepEqual(answer.json<About>().args, ['--log-level', 'debug', '--data', 'somewhere', '--port', '0']);
  assert.equal(waypost.url, `http://127.0.0.1:${waypost.port}`);
  assert.equal(await waypost.stop(), 7);
  assert.deepEqual(await waypost.exited, { code: 7, signal: null });
  assert.match(waypost.stdout, /stopping/);
  assert.match(waypost.stderr, /starting/);
});

test('without a place for its data the process gets a folder, and no settings of the caller', async () => {
  process.env.WAYPOST_LOG_LEVEL = 'silent';
  try {
    const waypost = await startWaypost({ program: standIn(SERVICE), env: { WAYPOST_BASE_URL: 'http://example.org' } });
    const { args, env } = (await request(waypost.url)).json<About>();
    assert.deepEqual([args[0], args[2], args[3]], ['--data', '--port', '0']);
    const settings = Object.keys(env).filter((name) => name.startsWith('WAYPOST_'));
    assert.deepEqual(settings, ['WAYPOST_BASE_URL']);
    assert.equal(env.NODE_TEST_CONTEXT, undefined);
    await waypost.stop();
  } finally {
    delete process.env.WAYPOST_LOG_LEVEL;
  }
});

test('a database or a port given in any way is not overruled', async () => {
  const program = standIn(SERVICE);
  const byFlag = await startWaypost({ program, args: ['--database=postgres://x/y', '--port', '0'] });
  assert.deepEqual((await request(byFlag.url)).json<About>().args, ['--database=postgres://x/y', '--port', '0']);
  const byVariable = await startWaypost({ program, env: { WAYPOST_DATABASE: 'postgres://x/y', WAYPOST_PORT: '0' } });
  assert.deepEqual((await request(byVariable.url)).json<About>().args, []);
  await Promise.all([byFlag.stop(), byVariable.stop()]);
});

test('tells of a killed process', async () => {
  const waypost = await startWaypost({ program: standIn(SERVICE) });
  waypost.kill('SIGKILL');
  assert.deepEqual(await waypost.exited, { code: null, signal: 'SIGKILL' });
  assert.equal(await isRunning(waypost.pid), false);
});

test('says why a process ended before it was ready', async () => {
  const program = standIn(`console.error('the disk is on fire'); process.exitCode = 3;`);
  await assert.rejects(startWaypost({ program }), /exit code 3[\s\S]*the disk is on fire/);
});

test('no service outlives a test process that was killed outright', async () => {
  const pid = await crashAfterReport<number>(`
    import { startWaypost } from ${moduleUrl('waypost.ts')};
    const waypost = await startWaypost({ program: ${JSON.stringify(standIn(SERVICE))} });
    console.log(JSON.stringify(waypost.pid));
    setInterval(() => {}, 1000);
  `);
  await eventually('the service ends', async () => !(await isRunning(pid)));
});
