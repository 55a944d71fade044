/** Starting: the command, its flags and variables, and every reason not to start, each told in one line. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { type CommandResult, runWaypost } from '../../testing/command.ts';
import { freshDatabase } from '../../testing/databases.ts';
import { eventually } from '../../testing/eventually.ts';
import { temporaryFolder } from '../../testing/folders.ts';
import { guardProcess } from '../../testing/guard.ts';
import { request } from '../../testing/http.ts';
import { withConnection } from '../../testing/postgres.ts';
import { mountSmallDisk } from '../../testing/small-disk.ts';
import { cleanEnvironment, startWaypost } from '../../testing/waypost.ts';
import { settings, variableOf } from '../src/config.ts';
import { prepareFolder, takeBack } from '../src/store/sqlite/folder.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** "Within a few seconds", on a machine that is busy with other tests. */
const SOON = 15_000;

/** A refusal to start is one line that a person understands. */
function isRefusal(result: CommandResult, message: RegExp): void {
  assert.notEqual(result.code, 0);
  assert.equal(result.signal, null);
  assert.equal(result.stdout, '');
  assert.match(result.stderr, /^waypost: [^\n]+\n$/);
  assert.match(result.stderr, message);
  assert.doesNotMatch(result.stderr, /^\s+at |Error:|SELECT/m);
  assert.ok(result.milliseconds < SOON, `it took ${result.milliseconds} ms`);
}

const serve = (...args: string[]) => runWaypost(['serve', ...args]);

test('the command without a command, with help and with an unknown one', async () => {
  const [none, help, unknown] = await Promise.all([runWaypost([]), runWaypost(['--help']), runWaypost(['sevre'])]);
  for (const { code, stdout, stderr } of [none, help]) {
    assert.equal(code, 0);
    assert.match(stdout, /^Usage: waypost <command>/);
    assert.match(stdout, /serve/);
    assert.equal(stderr, '');
  }
  assert.notEqual(unknown.code, 0);
  assert.match(unknown.stderr, /unknown command "sevre"/);
  assert.match(unknown.stderr, /serve/);
  assert.equal(unknown.stdout, '');
});

test('serve --help lists every flag and exits with 0, whatever else is given', async () => {
  for (const args of [['--help'], ['-h'], ['--port', 'nonsense', '--help']]) {
    const { code, stdout, stderr } = await serve(...args);
    assert.equal(code, 0);
    assert.equal(stderr, '');
    for (const name of Object.keys(settings)) assert.match(stdout, new RegExp(`^  --${name} `, 'm'));
    assert.match(stdout, /WAYPOST_/);
    assert.match(stdout, /--port N\s.*\(default 8080\)/);
  }
});

test('wrong flags and values end the program at once', async () => {
  const rows: [string[], RegExp][] = [
    [['--prot', '80'], /unknown flag --prot\. Did you mean --port\?/],
    [['--port', 'http'], /--port must be a whole number/],
    [['--port', '-1'], /--port/],
    [['--log-level', 'loud'], /--log-level must be one of/],
    [['serve'], /serve/],
  ];
  const results = await Promise.all(rows.map(([args]) => serve(...args)));
  for (const [index, [, message]] of rows.entries()) isRefusal(results[index] as CommandResult, message);
  isRefusal(await runWaypost(['serve'], { [variableOf('max-body')]: 'huge' }), /WAYPOST_MAX_BODY must be/);
});

test('one line on stdout when it is ready, and only JSON on stderr', async () => {
  const waypost = await startWaypost({ args: ['--log-level', 'trace'] });
  await request(`${waypost.url}/queues/lines`, { method: 'POST', body: 'x' });
  assert.equal(await waypost.stop(), 0);
  assert.equal(waypost.stdout, `Waypost is listening on http://127.0.0.1:${waypost.port}\n`);
  const lines = waypost.stderr.trimEnd().split('\n');
  const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    ['started', 'stopping', 'stopped'].map((msg) => events.filter((event) => event.msg === msg).length),
    [1, 1, 1],
  );
  for (const event of events) {
    assert.equal(typeof event.level, 'number');
    assert.match(String(event.time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  }
});

test('settings are taken from the environment', async () => {
  const data = join(temporaryFolder(), 'made', 'by', 'the service');
  const waypost = await startWaypost({
    env: {
      WAYPOST_PORT: '0',
      WAYPOST_DATA: data,
      WAYPOST_BASE_URL: 'https://queues.example/a',
      WAYPOST_AUTO_CREATE: 'false',
      WAYPOST_LOG_LEVEL: 'silent',
      WAYPOST_MAX_BODY: '4',
    },
  });
  assert.equal((await request(waypost.url)).link('queues'), 'https://queues.example/a/queues');
  assert.equal((await request(`${waypost.url}/queues/x`, { method: 'POST', body: '1234' })).status, 404);
  assert.equal((await request(`${waypost.url}/queues/x`, { method: 'POST', body: '12345' })).status, 413);
  assert.ok(readFileSync(join(data, 'waypost.db')).length > 0);
  await waypost.stop();
  assert.equal(waypost.stderr, '');
});

test('a person at a terminal gets lines to read', async () => {
  // `exec`, since some shells stay in between: Ctrl-C would reach them too, and the exit code would be theirs.
  const command = `exec ${process.execPath} cli/waypost.ts serve --port 0 --data ${temporaryFolder()}`;
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: ROOT,
    env: { ...cleanEnvironment(), TERM: 'dumb', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const release = child.pid === undefined ? () => {} : guardProcess(child.pid);
  let shown = '';
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  await eventually('it is ready', () => /^Waypost is listening on http:\/\/127\.0\.0\.1:\d+\r?$/m.test(shown));
  // Ctrl-C, as the person would press it.
  child.stdin.write('\x03');
  assert.equal(await ended, 0, shown);
  release();
  assert.match(shown, /INFO.*: started/);
  assert.match(shown, /INFO.*: stopped/);
  assert.doesNotMatch(shown, /\{"level"/);
});

test('a port that is taken', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  isRefusal(await serve('--port', String(port), '--data', temporaryFolder()), new RegExp(`port ${port} is in use`));
  other.close();
});

test('a start that fails leaves nothing behind and changes nothing', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  const taken = ['--port', String(port)];
  const folder = temporaryFolder();
  const fresh = join(folder, 'new', 'data');
  const { url, drop } = await freshDatabase();
  const unreachable = new URL(url);
  unreachable.port = '1';
  const tiny = await mountSmallDisk(16 * 1024);
  const rows: [string[], RegExp][] = [
    [[...taken, '--data', fresh], /is in use/],
    [['--host', '203.0.113.1', '--port', '0', '--data', fresh], /--host/],
    [['--port', '0', '--data', fresh, '--database', unreachable.href], /ECONNREFUSED/],
    [['--port', '0', '--data', fresh, '--max-batch', '0'], /--max-batch/],
    [[...taken, '--data', folder], /is in use/],
    [[...taken, '--database', url], /is in use/],
    [['--port', '0', '--data', join(tiny.path, 'new', 'data')], /full|I\/O|no space/i],
  ];
  for (const [args, message] of rows) isRefusal(await serve(...args), message);
  assert.deepEqual(readdirSync(folder), []);
  assert.deepEqual(readdirSync(tiny.path), []);
  const tables = await withConnection(url, (query) => query(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`));
  assert.equal(tables.length, 0, 'the database is as empty as it was');

  // An old store is not brought to a new schema by a program that cannot run.
  const used = await startWaypost({ data: fresh });
  await used.stop();
  const file = join(fresh, 'waypost.db');
  const db = new DatabaseSync(file);
  db.exec(`UPDATE meta SET number = 0 WHERE name = 'schema'; PRAGMA wal_checkpoint(TRUNCATE)`);
  db.close();
  const before = [readdirSync(fresh), readFileSync(file)];
  isRefusal(await serve(...taken, '--data', fresh), /is in use/);
  assert.deepEqual([readdirSync(fresh), readFileSync(file)], before);
  await Promise.all([tiny.unmount(), drop()]);
  other.close();
});

test('a folder that somebody else put something into meanwhile is not taken away', () => {
  const folder = join(temporaryFolder(), 'new', 'data');
  const made = prepareFolder(folder);
  assert.equal(made.length, 2);
  assert.deepEqual(prepareFolder(folder), [], 'it is there');
  writeFileSync(join(folder, 'mine'), 'x');
  writeFileSync(join(folder, 'waypost.db-wal'), 'x');
  takeBack(folder, made);
  assert.deepEqual(readdirSync(folder), ['mine']);
  takeBack(folder, []);
  assert.deepEqual(readdirSync(folder), ['mine']);
});

test('an address that is not of this machine', async () => {
  isRefusal(await serve('--host', '203.0.113.1', '--port', '0', '--data', temporaryFolder()), /--host/);
  isRefusal(await serve('--host', 'no-such-host.invalid', '--port', '0', '--data', temporaryFolder()), /--host/);
});

test('a data folder that cannot be used', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'file');
  writeFileSync(file, 'this is no folder');
  isRefusal(await serve('--port', '0', '--data', file), /data folder .*file/);
  isRefusal(await serve('--port', '0', '--data', join(file, 'below')), /data folder .*below/);

  const readOnly = await mountSmallDisk(1024 * 1024, { readOnly: true });
  isRefusal(await serve('--port', '0', '--data', readOnly.path), /data folder .*read-only/);
  isRefusal(
    await serve('--port', '0', '--data', join(readOnly.path, 'below')),
    /data folder .*below cannot be written/,
  );
  await readOnly.unmount();

  const tiny = await mountSmallDisk(16 * 1024);
  isRefusal(await serve('--port', '0', '--data', tiny.path), /data folder .*(full|I\/O)/);
  await tiny.unmount();

  const foreign = join(folder, 'foreign');
  mkdirSync(foreign);
  writeFileSync(
    join(foreign, 'waypost.db'),
    'this is no database, but it is long enough to be taken for one'.repeat(99),
  );
  isRefusal(await serve('--port', '0', '--data', foreign), /data folder .*not a database/);
});

test('a database that cannot be reached', async () => {
  const { url, drop } = await freshDatabase();
  const wrong = (change: (url: URL) => void): string => {
    const changed = new URL(url);
    change(changed);
    return changed.href;
  };
  const rows: [string, RegExp][] = [
    [wrong((each) => (each.port = '1')), /127\.0\.0\.1:1.*ECONNREFUSED/],
    [wrong((each) => (each.password = 'wrong-secret')), /password authentication failed/],
    [wrong((each) => (each.username = 'nobody')), /nobody/],
    [wrong((each) => (each.pathname = '/no_such_database')), /no_such_database/],
    [wrong((each) => (each.hostname = 'no-such-host.invalid')), /no-such-host\.invalid/],
  ];
  const results = await Promise.all(rows.map(([database]) => serve('--port', '0', '--database', database)));
  for (const [index, [, message]] of rows.entries()) {
    const result = results[index] as CommandResult;
    isRefusal(result, message);
    assert.doesNotMatch(result.stderr, new RegExp(`wrong-secret|${new URL(url).password}`));
  }
  await drop();
});

test('a second process on the same data folder is refused and harms nothing', async () => {
  const data = temporaryFolder();
  const first = await startWaypost({ data });
  await request(`${first.url}/queues/mine`, { method: 'POST', body: 'mine' });
  isRefusal(await serve('--port', '0', '--data', data), /another Waypost process uses the data folder/);
  const received = await request(`${first.url}/queues/mine/receiving`, { method: 'POST' });
  assert.equal(received.text(), 'mine');

  // A lock does not outlive its process, however that ended.
  first.kill('SIGKILL');
  await first.exited;
  const second = await startWaypost({ data });
  assert.equal((await request(`${second.url}/queues/mine`)).status, 200);
  await second.stop();
});

test('two processes on one PostgreSQL database work together', async () => {
  const { url, drop } = await freshDatabase();
  const [one, two] = await Promise.all([startWaypost({ database: url }), startWaypost({ database: url })]);
  const posted = await request(`${one.url}/queues/shared`, { method: 'POST', body: 'from one to two' });
  assert.equal(posted.status, 204);
  const received = await request(`${two.url}/queues/shared/receiving`, { method: 'POST' });
  assert.equal(received.text(), 'from one to two');
  assert.deepEqual(await Promise.all([one.stop(), two.stop()]), [0, 0]);
  await drop();
});

test('a newer schema is refused and left as it is, in the embedded store', async () => {
  const data = temporaryFolder();
  const waypost = await startWaypost({ data });
  await request(`${waypost.url}/queues/old`, { method: 'POST', body: 'old' });
  await waypost.stop();
  const open = () => new DatabaseSync(join(data, 'waypost.db'));
  const contents = (): string => {
    const db = open();
    const tables = db.prepare(`SELECT name, sql FROM sqlite_schema ORDER BY name`).all();
    const rows = tables
      .filter(({ sql }) => /^CREATE TABLE/.test(String(sql)))
      .map(({ name }) => db.prepare(`SELECT * FROM "${name}"`).all());
    db.close();
    return JSON.stringify({ tables, rows });
  };
  const db = open();
  db.exec(`UPDATE meta SET number = 1000 WHERE name = 'schema'`);
  db.close();
  const before = contents();
  isRefusal(await serve('--port', '0', '--data', data), /schema version 1000.*run a newer Waypost/);
  assert.equal(contents(), before);
});

test('a newer schema is refused and left as it is, in PostgreSQL', async () => {
  const { url, drop } = await freshDatabase();
  const waypost = await startWaypost({ database: url });
  await request(`${waypost.url}/queues/old`, { method: 'POST', body: 'old' });
  await waypost.stop();
  const contents = (): Promise<string> =>
    withConnection(url, async (query) => {
      const columns = await query(`SELECT table_name, column_name, data_type FROM information_schema.columns
        WHERE table_schema = 'public' ORDER BY 1, 2`);
      const rows = [];
      for (const name of new Set(columns.map((column) => String(column.table_name)))) {
        rows.push(await query(`SELECT * FROM "${name}"`));
      }
      return JSON.stringify({ columns, rows });
    });
  await withConnection(url, (query) => query(`UPDATE meta SET number = 1000 WHERE name = 'schema'`));
  const before = await contents();
  // The test cluster does not sync, of which the service warns.
  const result = await serve('--port', '0', '--database', url, '--log-level', 'error');
  isRefusal(result, /schema version 1000.*run a newer Waypost/);
  assert.equal(await contents(), before);
  await drop();
});

test('npm start hands its flags on and ends with its service', async () => {
  const child = spawn('npm', ['start', '--', '--port', '0', '--data', temporaryFolder()], {
    cwd: ROOT,
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, which gets its signal together, as Ctrl-C does it in a terminal.
    detached: true,
  });
  const { pid } = child;
  assert.ok(pid !== undefined);
  const release = guardProcess(pid);
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.resume();
  const ended = new Promise((resolve) => child.once('close', resolve));
  const url = await eventually('it is ready', () => /^Waypost is listening on (\S+)$/m.exec(stdout)?.[1]);
  assert.equal((await request(`${url}/status`)).status, 200);
  process.kill(-pid, 'SIGINT');
  await ended;
  release();
  await assert.rejects(request(url), { code: 'ECONNREFUSED' });
});
