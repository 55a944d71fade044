import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ensureCurl } from '../testing/curl.ts';
import { forEachEngine } from '../testing/engines.ts';
import { temporaryFolder } from '../testing/folders.ts';
import { readTranscript, runTranscript } from '../testing/transcripts.ts';
import { startWaypost } from '../testing/waypost.ts';

const ROOT = join(import.meta.dirname, '..');
const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })].sort();

before(ensureCurl);

forEachEngine('what the documentation shows is what happens', (engine) => {
  for (const page of pages) {
    const steps = readTranscript(readFileSync(join(ROOT, page), 'utf8'));
    if (steps.length === 0) continue;
    test(page, async () => {
      const database = await engine.database();
      const waypost = await startWaypost({ args: database.args });
      try {
        await runTranscript(steps, { base: waypost.url, folder: temporaryFolder() });
      } finally {
        await waypost.stop();
        await database.drop();
      }
    });
  }
});
