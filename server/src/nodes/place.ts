/** Where this node runs, so that its successor there knows it for dead without waiting. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Place } from './queries.ts';

export function placeOf(host: string, port: number): Place {
  return { name: `${machineName()} ${host} ${port}`, process: process.pid };
}

/** Tells this machine, as long as it runs, from every other one, whatever they are called; and containers on it, too. */
function machineName(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // Ports are those of a network namespace.
    return `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/net')}`;
  } catch {
    // Not Linux: the name has to do.
    return hostname();
  }
}

/** Whether another process of this machine has that number now. */
export function isOtherRunning(number: number): boolean {
  if (number === process.pid) return false;
  try {
    process.kill(number, 0);
    return true;
  } catch (error) {
    // It may be someone else's, and not to be signalled; then it is there.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
