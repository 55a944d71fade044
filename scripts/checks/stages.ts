import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Failure } from '../failures.ts';
import { type Fault, importFaults } from './imports.ts';
import { type SourceFile, sourceFiles } from './sources.ts';
import { styleFaults } from './style.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const IN_COLOUR = process.stdout.isTTY === true;

/** One check of the whole repository. It prints what it found, and gives that as text. */
export type Stage = { name: string; run(signal: AbortSignal): Promise<Finding> };
export type Finding = { ok: boolean; text: string };

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
export async function runStages(signal: AbortSignal): Promise<{ passed: number; failed: number; failures: Failure[] }> {
  let passed = 0;
  const failures: Failure[] = [];
  for (const stage of STAGES) {
    if (signal.aborted) break;
    let text = '';
    const ok = await timed(stage.name, async () => {
      const found = await stage.run(signal);
      text = found.text;
      return found.ok;
    });
    if (ok) passed += 1;
    else failures.push({ name: stage.name, error: text.trim() });
  }
  return { passed, failed: failures.length, failures };
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

function report(faults: Fault[]): Finding {
  const text = faults.map(({ file, line, message }) => `${file}:${line}: ${message}\n`).join('');
  process.stdout.write(text);
  return { ok: faults.length === 0, text };
}

function runTool(program: string, args: string[], signal: AbortSignal): Promise<Finding> {
  return new Promise((resolve, reject) => {
    let text = '';
    const child = spawn(process.execPath, [join(ROOT, 'node_modules', program), ...args], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding('utf8').on('data', (part: string) => {
        process.stdout.write(part);
        text += part;
      });
    }
    const stop = () => child.kill();
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', reject);
    child.once('close', (code) => {
      signal.removeEventListener('abort', stop);
      resolve({ ok: code === 0, text });
    });
  });
}
