import { globSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');

/** Every page of the documentation. */
export function markdownFiles(): string[] {
  return ['*.md', 'docs/**/*.md'].flatMap((pattern) =>
    globSync(pattern, { cwd: ROOT }).map((file) => join(ROOT, file)),
  );
}
