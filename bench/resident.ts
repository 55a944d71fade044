/** What the system knows of a process. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second. */
const MILLISECONDS_PER_TICK = 10;

/** Resident memory in MiB. */
export function residentMebibytes(pid: number): number {
  if (process.platform !== 'linux') {
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024;
  }
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** Milliseconds for which a process has had a processor so far: what else the machine does hardly shows in it. */
export function processorMilliseconds(pid: number): number {
  if (process.platform !== 'linux') {
    const text = execFileSync('ps', ['-o', 'time=', '-p', String(pid)], { encoding: 'utf8' });
    return text.split(':').reduce((sum, part) => sum * 60 + Number(part), 0) * 1000;
  }
  // The name of the program, in brackets, may hold anything; user and system time are the 14th and 15th field.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * MILLISECONDS_PER_TICK;
}

/** How many files a process may open. Node raises its own limit to the hard one when it starts. */
export function openFileLimit(): number {
  const text = execFileSync('/bin/sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim();
  return text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text);
}
