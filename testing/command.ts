import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { guardProcess } from './guard.ts';
import { cleanEnvironment, type Exit } from './waypost.ts';

export type CommandResult = Exit & { stdout: string; stderr: string; milliseconds: number };

const PROGRAM = join(import.meta.dirname, '..', 'cli', 'waypost.ts');
const TIMEOUT = 60_000;

/** Runs the `waypost` command to its end, for runs that are expected to end by themselves. */
export function runWaypost(args: string[], env: Record<string, string> = {}): Promise<CommandResult> {
  const started = performance.now();
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const release = child.pid === undefined ? () => {} : guardProcess(child.pid);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`waypost ${args.join(' ')} did not end.\n${stdout}${stderr}`));
    }, TIMEOUT);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      release();
      resolve({ code, signal, stdout, stderr, milliseconds: performance.now() - started });
    });
  });
}
