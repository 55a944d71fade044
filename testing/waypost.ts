import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { temporaryFolder } from './folders.ts';
import { guardProcess } from './guard.ts';
import { tailOf } from './tail.ts';

/** What is to be started. Without any place for its data the process gets a temporary folder of its own. */
export type WaypostOptions = {
  /** Further flags of `waypost serve`. */
  args?: string[];
  /** Added to the environment, from which all WAYPOST_* variables of the caller are removed. */
  env?: Record<string, string>;
  /** A postgres:// URL. */
  database?: string;
  /** A data folder. */
  data?: string;
  /** Another program in place of `cli/waypost.ts serve`, as arguments of node. For tests of this harness. */
  program?: string[];
  /** Kills the process before it is ready: starting it then fails, once the process has ended. */
  signal?: AbortSignal;
};

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

/** A running Waypost service. */
export type WaypostProcess = {
  /** The base URL, without a slash at its end. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** What the process wrote, the last mebibyte of each. */
  readonly stdout: string;
  readonly stderr: string;
  /** Settles when the process has ended and all its output was read. */
  readonly exited: Promise<Exit>;
  kill(signal?: NodeJS.Signals): void;
  /** Asks the process to end (SIGTERM) and gives its exit code; null when a signal ended it. */
  stop(): Promise<number | null>;
};

const READY_TIMEOUT = 20_000;
const STOP_TIMEOUT = 30_000;
const OUTPUT_LIMIT = 1024 * 1024;
const READY_LINE = /^Waypost is listening on (http:\/\/\S+)\r?\n/m;
const PROGRAM = [join(import.meta.dirname, '..', 'cli', 'waypost.ts'), 'serve'];

/**
 * Starts Waypost as a process of its own on a free port and waits until it is ready. It ends with the test process at
 * the latest, and it does not keep a finished test process alive.
 */
export async function startWaypost(options: WaypostOptions = {}): Promise<WaypostProcess> {
  const child = spawn(process.execPath, [...(options.program ?? PROGRAM), ...flags(options)], {
    env: { ...cleanEnvironment(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    killSignal: 'SIGKILL',
    ...(options.signal && { signal: options.signal }),
  });
  const pid = child.pid;
  const stdout = tailOf(OUTPUT_LIMIT);
  const stderr = tailOf(OUTPUT_LIMIT);
  child.stdout.on('data', stdout.add);
  child.stderr.on('data', stderr.add);
  const release = pid === undefined ? () => {} : guardProcess(pid);
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      release();
      resolve({ code, signal });
    });
  });
  const url = await readyUrl(child, stdout.text, stderr.text);
  if (pid === undefined) throw new Error('The process has no id.');
  keepAlive(child, false);

  return {
    url,
    port: Number(new URL(url).port),
    pid,
    get stdout() {
      return stdout.text();
    },
    get stderr() {
      return stderr.text();
    },
    get exited() {
      // Who waits for the end must not be left waiting by an event loop that has nothing else to do.
      keepAlive(child, true);
      return exited;
    },
    kill: (signal = 'SIGKILL') => {
      child.kill(signal);
    },
    stop: async () => {
      keepAlive(child, true);
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        child.kill('SIGKILL');
      }, STOP_TIMEOUT);
      child.kill('SIGTERM');
      const { code } = await exited;
      clearTimeout(timer);
      if (late) throw new Error(`Waypost did not stop within ${STOP_TIMEOUT / 1000} s.\n${stderr.text()}`);
      return code;
    },
  };
}

function flags({ args = [], data, database, env = {} }: WaypostOptions): string[] {
  const result = [...args];
  const has = (flag: string) => result.some((arg) => arg === flag || arg.startsWith(`${flag}=`));
  if (data !== undefined) result.push('--data', data);
  if (database !== undefined) result.push('--database', database);
  const placed = has('--data') || has('--database') || 'WAYPOST_DATA' in env || 'WAYPOST_DATABASE' in env;
  if (!placed) result.push('--data', temporaryFolder());
  if (!has('--port') && !('WAYPOST_PORT' in env)) result.push('--port', '0');
  return result;
}

/** Neither the developer's own settings nor the test runner's may reach the service. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('WAYPOST_') && name !== 'NODE_TEST_CONTEXT',
  );
  return Object.fromEntries(kept);
}

function readyUrl(child: ChildProcess, stdout: () => string, stderr: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (what: string) => {
      settle();
      reject(new Error(`${what}\n${stderr()}${stdout()}`));
    };
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail(`Waypost was not ready after ${READY_TIMEOUT / 1000} s.`);
    }, READY_TIMEOUT);
    const onError = (error: Error) => {
      // Killed by the caller's signal: the end of the process follows.
      if (error.name !== 'AbortError') fail(`Waypost could not be started: ${error.message}`);
    };
    const onClose = (code: number | null, signal: string | null) =>
      fail(`Waypost ended before it was ready (${signal ?? `exit code ${code}`}).`);
    const onData = () => {
      const url = READY_LINE.exec(stdout())?.[1];
      if (url === undefined) return;
      settle();
      resolve(url.replace(/\/$/, ''));
    };
    const settle = () => {
      clearTimeout(timer);
      // The listener of errors stays: a signal that comes too late is an error as well.
      child.off('close', onClose);
      child.stdout?.off('data', onData);
    };
    child.on('error', onError).on('close', onClose);
    child.stdout?.on('data', onData);
  });
}

function keepAlive(child: ChildProcess, yes: boolean): void {
  const verb = yes ? 'ref' : 'unref';
  child[verb]();
  for (const pipe of [child.stdout, child.stderr]) {
    if (pipe && 'ref' in pipe && 'unref' in pipe) (pipe as unknown as NodeJS.RefCounted)[verb]();
  }
}
