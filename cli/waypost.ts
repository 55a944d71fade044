/** The `waypost` command. */
import { readFileSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';

const USAGE = `Usage: waypost <command>

  serve [flags]   start the service; see waypost serve --help
  --version       print the version
`;

// Most of a start is reading and compiling the sources: with the results of the last start it takes half as long. They
// lie beside the program, where only who installed it can write; where nobody can, nothing is kept and nothing is lost.
// The variable is for the threads of this process, which look there.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '..', 'node_modules', '.cache', 'waypost');
enableCompileCache(process.env.NODE_COMPILE_CACHE);

const [command, ...args] = process.argv.slice(2);

if (command === 'serve') {
  const { serve } = await import('../server/src/main.ts');
  // Now, since a process that is killed writes nothing when it ends.
  flushCompileCache();
  process.exitCode = await serve(args);
} else if (command === '--version' || command === 'version') {
  const about = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  process.stdout.write(`${about.version}\n`);
} else if (command === undefined || command === '--help' || command === 'help') process.stdout.write(USAGE);
else {
  process.stderr.write(`waypost: unknown command "${command}"\n\n${USAGE}`);
  process.exitCode = 2;
}
