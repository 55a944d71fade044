import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { type Fault, importFaults } from './imports.ts';
import { type SourceFile, sourceFiles } from './sources.ts';
import { styleFaults } from './style.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const IN_COLOUR = process.stdout.isTTY === true;

/** One check of the whole repository: true when it found nothing. It prints what it found. */
export type Stage = { name: string; run(signal: AbortSignal): Promise<boolean> };

/** Everything that can be said about the code without running it. */
export const STAGES: Stage[] = [
  {
    name: 'types',
    run: (signal) => runTool('typescript/bin/tsc', ['--noEmit', '--pretty', String(IN_COLOUR)], signal),
  },
  {
    name: 'lint and format',
    run: (signal) =>
      runTool('@biomejs/biome/bin/biome', ['check', `--colors=${IN_COLOUR ? 'force' : 'off'}`, '.'], signal),
  },
  { name: 'imports', run: async () => report(importFaults(repository())) },
  { name: 'house style', run: async () => report(styleFaults(repository())) },
];

/** Runs all checks, also after one has failed, and counts. */
export async function runStages(signal: AbortSignal): Promise<{ passed: number; failed: number }> {
  let passed = 0;
  let failed = 0;
  for (const stage of STAGES) {
    if (signal.aborted) break;
    const ok = await timed(stage.name, () => stage.run(signal));
    if (ok) passed += 1;
    else failed += 1;
  }
  return { passed, failed };
}

/** Runs one stage between a line that names it and a line that tells how it went and how long it took. */
export async function timed(name: string, work: () => Promise<boolean>): Promise<boolean> {
  console.log(`\n== ${name}`);
  const start = performance.now();
  const ok = await work();
  console.log(`== ${name}: ${ok ? 'ok' : 'FAILED'} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  return ok;
}

function repository(): SourceFile[] {
  return sourceFiles(ROOT);
}

function report(faults: Fault[]): boolean {
  for (const { file, line, message } of faults) console.log(`${file}:${line}: ${message}`);
  return faults.length === 0;
}

function runTool(program: string, args: string[], signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(ROOT, 'node_modules', program), ...args], {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const stop = () => child.kill();
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', reject);
    child.once('close', (code) => {
      signal.removeEventListener('abort', stop);
      resolve(code === 0);
    });
  });
}
