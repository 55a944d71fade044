import { execFile } from 'node:child_process';
import { appendFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from './folders.ts';
import { guardMount } from './guard.ts';

const run = promisify(execFile);
const CHUNK = 64 * 1024;

/** A file system of a few mebibytes in memory, which a test can fill to the brim. */
export type SmallDisk = {
  readonly path: string;
  free(): number;
  /** Fills the disk with a file until so many bytes are left, or really nothing when it is 0. */
  fill(left: number): void;
  /** Removes that file. */
  empty(): void;
  /** Takes the disk away, even when it is still in use. */
  unmount(): Promise<void>;
};

/** Mounts one. Only root may do that, on Linux: the tests need it, because nothing else makes a disk really full. */
export async function mountSmallDisk(bytes: number, { readOnly = false } = {}): Promise<SmallDisk> {
  const path = temporaryFolder();
  const options = `size=${bytes}${readOnly ? ',ro' : ''}`;
  await run('mount', ['-t', 'tmpfs', '-o', options, 'waypost-test', path]).catch((error: Error) => {
    throw new Error(`Cannot mount a small disk (run the tests as root, on Linux): ${error.message}`);
  });
  const release = guardMount(path);
  const filler = join(path, 'filler');
  const free = () => {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  };
  return {
    path,
    free,
    fill: (left) => {
      writeFileSync(filler, '');
      try {
        for (let room = free(); room > left; room = free()) {
          appendFileSync(filler, Buffer.alloc(Math.min(CHUNK, Math.max(1, room - left))));
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    },
    empty: () => rmSync(filler, { force: true }),
    unmount: async () => {
      await run('umount', ['-l', path]);
      release();
    },
  };
}
