/** The `waypost` command. */
import { serve } from '../server/src/main.ts';

const USAGE = `Usage: waypost <command>

  serve [flags]   start the service; see waypost serve --help
`;

const [command, ...args] = process.argv.slice(2);

if (command === 'serve') process.exitCode = await serve(args);
else if (command === undefined || command === '--help' || command === 'help') process.stdout.write(USAGE);
else {
  process.stderr.write(`waypost: unknown command "${command}"\n\n${USAGE}`);
  process.exitCode = 2;
}
