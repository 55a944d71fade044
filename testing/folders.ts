import { existsSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardFolder } from './guard.ts';

/** Where Linux keeps files in memory. */
const MEMORY = '/dev/shm';

/**
 * A fresh folder of the test's own, removed when the test process ends, however it ends. `inMemory`: where there is such
 * a place, for tests that write much and do not care whether it reaches a disk.
 */
export function temporaryFolder({ inMemory = false } = {}): string {
  const parent = inMemory && existsSync(MEMORY) ? MEMORY : realpathSync(tmpdir());
  const folder = mkdtempSync(join(parent, 'waypost-test-'));
  guardFolder(folder);
  return folder;
}
