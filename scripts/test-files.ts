import { globSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { type Failure, gatherFailures } from './failures.ts';

/**
 * The test files, apart: those that may run side by side, the long ones with many processes, of which a few may, and those
 * that need the machine for themselves.
 */
export type TestFiles = { ordinary: string[]; heavy: string[]; solo: string[] };

export type RunOptions = {
  /** Files are named from here. */
  root: string;
  concurrency: number;
  timeout: number;
  namePatterns: string[];
  signal: AbortSignal;
};
export type Outcome = { passed: number; failed: number; failures: Failure[] };

/** Finds all test files below the root, or those named: files, folders or patterns. */
export function findTestFiles(root: string, wanted: string[], from: string = root): TestFiles {
  const files = new Set<string>();
  if (wanted.length === 0) for (const file of testFilesIn(root)) files.add(file);
  for (const name of wanted) {
    const found = named(resolve(from, name), from, name);
    if (found.length === 0) throw new Error(`No test file is named by ${name}`);
    for (const file of found) files.add(file);
  }
  const sorted = [...files].sort();
  const byKind = Object.groupBy(sorted, kindOf);
  return { ordinary: byKind.ordinary ?? [], heavy: byKind.heavy ?? [], solo: byKind.solo ?? [] };
}

function kindOf(file: string): keyof TestFiles {
  if (file.endsWith('.heavy.test.ts')) return 'heavy';
  return file.endsWith('.solo.test.ts') ? 'solo' : 'ordinary';
}

function named(path: string, from: string, name: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile()) return [path];
  if (stat?.isDirectory()) return testFilesIn(path);
  return globSync(name, { cwd: from, exclude }).map((file) => resolve(from, file));
}

function testFilesIn(folder: string): string[] {
  return globSync('**/*.test.ts', { cwd: folder, exclude }).map((file) => resolve(folder, file));
}

function exclude(path: string): boolean {
  return path.split('/').some((part) => part === 'node_modules' || part === '.git');
}

/**
 * Runs the files with the runner of `node --test`, each in a process of its own. A test that was skipped counts as
 * failed: whatever is in the suite has to hold.
 */
export async function runTestFiles(files: string[], options: RunOptions): Promise<Outcome> {
  if (files.length === 0) return { passed: 0, failed: 0, failures: [] };
  const events = run({
    files,
    execArgv: ['--import', import.meta.resolve('./end-with-runner.ts')],
    concurrency: options.concurrency,
    timeout: options.timeout,
    signal: options.signal,
    ...(options.namePatterns.length > 0 ? { testNamePatterns: options.namePatterns } : {}),
  });
  const outcome: Outcome = { passed: 0, failed: 0, failures: gatherFailures(events, options.root) };
  events.on('test:summary', (summary) => {
    // Each file has a summary of its own as well; the one without a file is the sum.
    if (summary.file !== undefined) return;
    const { tests, passed } = summary.counts;
    outcome.passed = passed;
    outcome.failed = tests - passed;
  });
  for await (const text of events.compose(spec)) process.stdout.write(text);
  return outcome;
}
