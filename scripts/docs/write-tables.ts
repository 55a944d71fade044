// `node scripts/docs/write-tables.ts`: brings the tables of the documentation up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { markdownFiles } from './pages.ts';
import { withTables } from './tables.ts';

for (const file of markdownFiles()) {
  const before = readFileSync(file, 'utf8');
  const after = withTables(before);
  if (after === before) continue;
  writeFileSync(file, after);
  console.log(file);
}
