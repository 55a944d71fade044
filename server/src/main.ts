/** The program: read the configuration, start, wait for a signal, stop. */
import { ConfigError, helpText, readOptions } from './config.ts';
import { createLogger, type Logger } from './log.ts';
import { Problem } from './problems.ts';
import { startWaypost, VERSION } from './server.ts';

/** Resolves to the exit code. */
export async function serve(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(helpText());
    return 0;
  }
  try {
    const options = readOptions(args, process.env);
    const log = await createLogger(options['log-level']);
    const stopped = new Promise<string>((resolve) => {
      // Not `once`: a second signal (Ctrl-C reaches npm and the service both) must not cut the orderly end short.
      process.on('SIGTERM', resolve);
      process.on('SIGINT', resolve);
    });
    const waypost = await startWaypost(options, log);
    log.info({ version: VERSION, url: waypost.url, database: options.database ? 'postgresql' : 'sqlite' }, 'started');
    process.stdout.write(`Waypost is listening on ${waypost.url}\n`);
    const signal = await stopped;
    log.info({ signal }, 'stopping');
    endInTime(log);
    await waypost.close();
    log.info({}, 'stopped');
    return 0;
  } catch (error) {
    process.stderr.write(`waypost: ${explainStart(error)}\n`);
    return 1;
  }
}

/** Everything that was answered is on disk, so ending without having tidied up loses nothing; not ending would. */
const LATEST_END = 9500;

function endInTime(log: Logger): void {
  setTimeout(() => {
    log.warn({}, 'not all was put away in time; ending all the same');
    process.exit(0);
  }, LATEST_END).unref();
}

/** One line that says what is wrong and, where that is known, what to do. */
function explainStart(error: unknown): string {
  if (error instanceof ConfigError || error instanceof Problem) return error.message;
  const { code, message, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE') return `port ${port} is in use; choose another with --port (0 takes a free one)`;
  if (code === 'EACCES') return `port ${port} may not be used by this user; choose another with --port`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `the address of --host is not one of this machine: ${message}`;
  return message;
}
