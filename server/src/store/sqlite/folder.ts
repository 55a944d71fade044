/** The data folder: made with the first start, and taken back when that fails. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Problem } from '../../problems.ts';
import { DATABASE_FILE } from './database.ts';
import { LOCK_FILE } from './folder-lock.ts';

/** Makes sure that it is there and can be written. Gives the folders that had to be made, outermost first. */
export function prepareFolder(folder: string): readonly string[] {
  const made: string[] = [];
  try {
    makeFolder(resolve(folder), made);
    if (!statSync(folder).isDirectory()) throw new Error('it is a file');
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return made;
  } catch (error) {
    takeBack(folder, made);
    throw new Problem('store-unavailable', `the data folder ${folder} cannot be written: ${(error as Error).message}`);
  }
}

/** Not `mkdirSync` with `recursive`: that never returns where the parent exists but takes no folders, as under /proc. */
function makeFolder(folder: string, made: string[]): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  makeFolder(parent, made);
  mkdirSync(folder);
  made.push(folder);
  // The name of the new folder must be on disk, too, before anything in it is promised.
  syncFolder(parent);
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** What an engine may leave beside its file. */
const ENDINGS = ['', '-wal', '-shm', '-journal'];

/**
 * Removes a data folder that was made in vain, with the folders above it that were made for it. One that was there before
 * is left as it is, and nothing is removed that Waypost did not put there.
 */
export function takeBack(folder: string, made: readonly string[]): void {
  const innermost = made.at(-1);
  if (innermost === undefined) return;
  try {
    if (innermost === resolve(folder)) {
      for (const file of [DATABASE_FILE, LOCK_FILE]) {
        for (const ending of ENDINGS) rmSync(join(innermost, file + ending), { force: true });
      }
    }
    for (const each of made.toReversed()) rmdirSync(each);
  } catch {
    // Something else is in it by now. The start has failed for a reason of its own, which is the one to be told.
  }
}
