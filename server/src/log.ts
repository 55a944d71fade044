/** Logs: JSON lines on stderr, readable ones for a person at a terminal. */
import { isatty } from 'node:tty';
import { destination, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

const STDERR = 2;

export function createLogger(level: string): Logger {
  if (isatty(STDERR)) {
    return pino({
      level,
      transport: { target: 'pino-pretty', options: { destination: STDERR, ignore: 'pid,hostname' } },
    });
  }
  return pino({ level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, destination(STDERR));
}
