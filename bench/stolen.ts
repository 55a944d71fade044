/** What the host of a virtual machine does with the processors meanwhile. */
import { readFileSync } from 'node:fs';

/**
 * Tells the share of processor time that the host gave to others since the last call, of what this machine wanted or had.
 * 0 where the system does not tell.
 */
export function watchStolen(read: () => string = readTimes): () => number {
  let before = timesOf(read());
  return () => {
    const now = timesOf(read());
    const all = now.all - before.all;
    const stolen = now.stolen - before.stolen;
    before = now;
    return all > 0 ? stolen / all : 0;
  };
}

function readTimes(): string {
  try {
    return readFileSync('/proc/stat', 'utf8');
  } catch {
    return '';
  }
}

/** The first line: user, nice, system, idle, iowait, irq, softirq, steal; what follows is contained in these. */
function timesOf(text: string): { all: number; stolen: number } {
  const [, line = ''] = /^cpu +(.*)$/m.exec(text) ?? [];
  const times = line.split(' ').slice(0, 8).map(Number);
  return { all: times.reduce((sum, time) => sum + time, 0), stolen: times[7] ?? 0 };
}
