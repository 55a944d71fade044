/** What the system knows of a process. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Resident memory in MiB. */
export function residentMebibytes(pid: number): number {
  if (process.platform !== 'linux') {
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024;
  }
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** How many files a process may open. Node raises its own limit to the hard one when it starts. */
export function openFileLimit(): number {
  const text = execFileSync('/bin/sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim();
  return text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text);
}
