/** The pages of the documentation are run with the real curl, which a bare machine may lack. */
import { spawnSync } from 'node:child_process';

const succeeds = (program: string, args: string[]): boolean =>
  spawnSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;

/** Installs curl where that is possible (Debian, as root), or says that it is needed. */
export function ensureCurl(): void {
  if (succeeds('curl', ['--version'])) return;
  const isRoot = process.getuid?.() === 0;
  if (isRoot && succeeds('apt-get', ['update', '-qq']) && succeeds('apt-get', ['install', '-y', '-qq', 'curl'])) return;
  throw new Error('The documentation is tested with curl: install it and run the tests again.');
}
