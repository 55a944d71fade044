import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from './folders.ts';
import { guardProcess } from './guard.ts';

const STRACE = '/usr/bin/strace';
const CALLS = 'read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg,pwrite64,fsync,fdatasync';
const ATTACH_TIMEOUT = 20_000;

/** One call of a process to the system. */
export type SystemCall = {
  name: string;
  /** Its place in what all threads of the process did, counted in lines of the trace. */
  began: number;
  ended: number;
  /** The file, pipe or socket. */
  target: string;
  /** The line as strace wrote it, with the beginning of the data. */
  line: string;
};

/** Watches all threads of a running process. */
export async function traceCalls(pid: number): Promise<{ stop(): Promise<SystemCall[]> }> {
  await ensureStrace();
  const output = join(temporaryFolder(), 'trace');
  const child = spawn(STRACE, ['-f', '-y', '-s', '100', '-e', `trace=${CALLS}`, '-o', output, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  const release = child.pid === undefined ? () => {} : guardProcess(child.pid);
  ended.then(release, release);
  let said = '';
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`strace did not attach: ${said}`)), ATTACH_TIMEOUT);
    child.once('error', reject);
    child.once('close', () => reject(new Error(`strace ended: ${said}`)));
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (!said.includes('attached')) return;
      clearTimeout(timer);
      resolve();
    });
  });
  return {
    stop: async () => {
      child.kill('SIGINT');
      await ended;
      return parseTrace(readFileSync(output, 'latin1'));
    },
  };
}

/** The calls of a trace, in the order in which they ended; those that were interrupted or failed are left out. */
export function parseTrace(text: string): SystemCall[] {
  const unfinished = new Map<string, { began: number; line: string }>();
  return text.split('\n').flatMap((whole, at) => {
    const [, thread = '', line = ''] = /^(\d+ +)?(.*)$/.exec(whole) ?? [];
    if (line.endsWith('<unfinished ...>')) {
      unfinished.set(thread, { began: at, line: line.slice(0, -'<unfinished ...>'.length) });
      return [];
    }
    const [, rest] = /^<\.\.\. \w+ resumed>(.*)$/.exec(line) ?? [];
    const start = rest === undefined ? undefined : unfinished.get(thread);
    return toCall(start === undefined ? line : start.line + rest, start?.began ?? at, at);
  });
}

function toCall(line: string, began: number, ended: number): SystemCall[] {
  const [, name, target] = /^(\w+)\(\d+<([^>]*)>/.exec(line) ?? [];
  if (name === undefined || target === undefined || / = -1 | = \?/.test(line)) return [];
  return [{ name, target, line, began, ended }];
}

/** Where strace is missing, root on Debian gets it from its own distribution; anyone else is told what to do. */
export async function ensureStrace(): Promise<void> {
  if (existsSync(STRACE)) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error('strace is needed to see when Waypost writes to the disk: install it (apt-get install strace).');
  }
  const apt = (...args: string[]) =>
    promisify(execFile)('apt-get', args, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  await apt('install', '-y', '--no-install-recommends', 'strace').catch(async () => {
    // A fresh machine has no list of packages yet.
    await apt('update');
    await apt('install', '-y', '--no-install-recommends', 'strace');
  });
}
