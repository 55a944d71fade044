import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { guardFolder } from './guard.ts';

/** A fresh folder of the test's own, removed when the test process ends, however it ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'waypost-test-'));
  guardFolder(folder);
  return folder;
}
