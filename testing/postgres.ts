import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { guardFolder, guardProcess } from './guard.ts';
import { freePort } from './ports.ts';
import { type Account, binariesFor, unprivilegedAccount } from './postgres-binaries.ts';
import { type Tail, tailOf } from './tail.ts';

/** How a server is ended: `fast` writes everything out first, `immediate` is a crash that recovery must mend. */
export type StopMode = 'fast' | 'immediate';

/** A real PostgreSQL server of the tests' own. */
export type Cluster = {
  /** The URL of a database of this cluster. */
  url(database: string): string;
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>;
  /** Ends the server and starts it again on the same port and the same data. */
  restart(mode?: StopMode): Promise<void>;
  /** Ends the server; its data and port stay. For tests of what happens while there is no database. */
  shutDown(mode?: StopMode): Promise<void>;
  /** Starts the server again after `shutDown`. */
  startUp(): Promise<void>;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
  /** The newest lines of the server's log. */
  log(): string;
};

export type ClusterOptions = {
  /** Server settings, such as `{ fsync: 'off' }`. The default is a durable server. */
  settings?: Record<string, string>;
};

/** Settings for suites that never crash the server: nothing waits for the disk. */
export const FAST_AND_FRAGILE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

const DEFAULT_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  // Starts and ends, but not the errors that tests provoke by the thousand.
  log_min_messages: 'log',
  log_checkpoints: 'off',
};

const START_TIMEOUT = 60_000;
const STOP_TIMEOUT = 60_000;
const PORT_ATTEMPTS = 10;
const READY = 'database system is ready to accept connections';

type Place = { folder: string; data: string; bin: string; account: Account; password: string };
type Server = { child: ChildProcess; release: () => void; ended: Promise<void> };

/** Starts a PostgreSQL server with a fresh, empty data folder. It ends with this process at the latest. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'waypost-postgres-'));
  const releaseFolder = guardFolder(folder);
  const settings = { ...DEFAULT_SETTINGS, ...options.settings };
  const log = tailOf(64 * 1024);
  const place = await initialise(folder);
  const first = await startSomewhere(place, settings, log);
  const port = first.port;
  let server: Server | undefined = first.server;
  let stopped = false;

  const url = (database: string) => `postgres://waypost:${place.password}@127.0.0.1:${port}/${database}`;
  const shutDown = async (mode: StopMode = 'fast') => {
    const running = server;
    server = undefined;
    if (running) await endServer(running, mode);
  };
  const startUp = async () => {
    if (stopped) throw new Error('This cluster was stopped for good.');
    server ??= await startServer(place, port, settings, log);
  };
  return {
    url,
    createDatabase: async () => {
      const name = `waypost_${randomBytes(6).toString('hex')}`;
      await withConnection(url('postgres'), (query) => query(`CREATE DATABASE ${name}`));
      return url(name);
    },
    restart: async (mode) => {
      await shutDown(mode);
      await startUp();
    },
    shutDown,
    startUp,
    stop: async () => {
      stopped = true;
      await shutDown('immediate');
      rmSync(folder, { recursive: true, force: true });
      releaseFolder();
    },
    log: log.text,
  };
}

/** Runs a statement and gives its rows. */
export type Query = <R = Record<string, unknown>>(text: string, values?: unknown[]) => Promise<R[]>;

/** Runs one piece of work on a connection of its own. */
export async function withConnection<T>(url: string, work: (query: Query) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  // A connection that is lost fails its statements; nobody has to be told besides.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(async (text, values) => (await client.query(text, values)).rows);
  } finally {
    await client.end();
  }
}

async function initialise(folder: string): Promise<Place> {
  const account = unprivilegedAccount();
  if (account.uid !== undefined && account.gid !== undefined) chownSync(folder, account.uid, account.gid);
  const place = {
    folder,
    data: join(folder, 'data'),
    bin: binariesFor(account, folder),
    account,
    password: randomBytes(12).toString('hex'),
  };
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, place.password);
  if (account.uid !== undefined && account.gid !== undefined) chownSync(passwordFile, account.uid, account.gid);
  const run = promisify(execFile)(
    join(place.bin, 'initdb'),
    [
      `--pgdata=${place.data}`,
      '--username=waypost',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // Sorts text by language, as most databases in use do: code that trusts in the order of bytes fails here too.
      '--locale=C',
      '--locale-provider=icu',
      '--icu-locale=en-US',
      // A new connection costs less; the password guards a test database only.
      '--set=scram_iterations=1',
      '--no-sync',
    ],
    { ...account, cwd: folder, env: serverEnvironment() },
  );
  const release = run.child.pid === undefined ? () => {} : guardProcess(run.child.pid);
  try {
    await run;
  } finally {
    release();
    rmSync(passwordFile, { force: true });
  }
  return place;
}

/** Nothing of the caller's environment (PGDATA, PGPORT, languages) may change how the server behaves. */
function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

/** Between finding a free port and binding it, somebody else may take it: then another one is tried. */
async function startSomewhere(
  place: Place,
  settings: Record<string, string>,
  log: Tail,
): Promise<{ server: Server; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      return { server: await startServer(place, port, settings, log), port };
    } catch (error) {
      const taken = error instanceof Error && error.message.includes('Address already in use');
      if (!taken || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

async function startServer(place: Place, port: number, settings: Record<string, string>, log: Tail): Promise<Server> {
  const args = ['-D', place.data, '-p', String(port)];
  for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`);
  const child = spawn(join(place.bin, 'postgres'), args, {
    ...place.account,
    cwd: place.folder,
    env: serverEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
    // Ctrl-C in the terminal ends the tests first, and the tests end their server.
    detached: true,
  });
  const release = child.pid === undefined ? () => {} : guardProcess(child.pid, 'QUIT');
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  ended.then(release);
  let said = '';
  let latest = '';
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`PostgreSQL was not ready after ${START_TIMEOUT / 1000} s.\n${said}`));
    }, START_TIMEOUT);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', () => {
      clearTimeout(timer);
      reject(new Error(`PostgreSQL ended before it was ready.\n${said}`));
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      log.add(chunk);
      if (said.length < 64 * 1024) said += chunk.toString();
      // Apart from what is kept for an error: clients that knock during the start can fill that.
      latest = latest.slice(-READY.length) + chunk.toString();
      if (!latest.includes(READY)) return;
      clearTimeout(timer);
      resolve();
    });
  });
  // A test process that is otherwise finished must not stay for its database: the guard ends it.
  child.unref();
  unrefPipe(child);
  return { child, release, ended };
}

function unrefPipe({ stderr }: ChildProcess): void {
  if (stderr && 'unref' in stderr && typeof stderr.unref === 'function') stderr.unref();
}

async function endServer({ child, ended }: Server, mode: StopMode): Promise<void> {
  child.ref();
  child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT);
  await ended;
  clearTimeout(timer);
}
