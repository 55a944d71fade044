/** Logs: JSON lines on stderr, readable ones for a person at a terminal. */
import { isatty } from 'node:tty';
import { destination, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

const STDERR = 2;

export async function createLogger(level: string): Promise<Logger> {
  if (isatty(STDERR)) {
    // In this process, not as a transport in a thread of its own: a line is on the terminal when it was logged, also
    // the last one before an end. Loaded only here, since a service without a terminal has no use for it.
    const { default: pretty } = await import('pino-pretty');
    return pino({ level }, pretty({ destination: STDERR, sync: true, ignore: 'pid,hostname' }));
  }
  return pino({ level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, destination(STDERR));
}
