import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/**
 * Runs a module in a node process of its own, kills that process outright as soon as it has printed one line of JSON,
 * and gives that line: what a crashed test process had in use.
 */
export async function crashAfterReport<T>(code: string): Promise<T> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(60_000) });
  child.kill('SIGKILL');
  await once(child, 'exit');
  return JSON.parse(line) as T;
}

/** The address of a module beside this one, to be imported by such code. */
export function moduleUrl(name: string): string {
  return JSON.stringify(import.meta.resolve(`./${name}`));
}

/** Whether a process is still running; one that ended and was not collected yet is not. */
export async function isRunning(pid: number): Promise<boolean> {
  const list = spawn('ps', ['-o', 'stat=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let state = '';
  list.stdout.on('data', (chunk) => {
    state += chunk;
  });
  await once(list, 'close');
  return state.trim() !== '' && !state.trim().startsWith('Z');
}
