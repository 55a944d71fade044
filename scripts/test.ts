import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FAST_AND_FRAGILE, startCluster } from '../testing/postgres.ts';
import { runStages, timed } from './checks/stages.ts';
import { tellFailures } from './failures.ts';
import { findTestFiles, type Outcome, runTestFiles } from './test-files.ts';

// `npm test`: all checks, then all tests on one PostgreSQL cluster. `npm test -- FILE...` runs these files alone.
// `--test-name-pattern=...` chooses tests by name.

const ROOT = join(import.meta.dirname, '..');
const MINUTE = 60_000;
const HEAVY_AT_ONCE = 3;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'test-name-pattern': { type: 'string', multiple: true, default: [] } },
});
const namePatterns = values['test-name-pattern'];
const everything = positionals.length === 0 && namePatterns.length === 0;
const { ordinary, heavy, solo } = findTestFiles(ROOT, positionals, process.cwd());

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // Asked a second time: at once. What is still running ends with this process.
    if (interruption.signal.aborted) process.exit(130);
    interruption.abort();
  });
}

const total: Outcome = { passed: 0, failed: 0, failures: [] };
const add = ({ passed, failed, failures }: Outcome): boolean => {
  total.passed += passed;
  total.failed += failed;
  total.failures.push(...failures);
  return failed === 0;
};

if (everything) add(await runStages(interruption.signal));
if (!interruption.signal.aborted) await runTests();

const interrupted = interruption.signal.aborted;
// The output is long, and sometimes only its end is kept.
if (total.failures.length > 0) console.log(`\n${tellFailures(total.failures).trimEnd()}`);
if (interrupted) console.log('\nInterrupted.');
console.log(`\n${total.passed} passed, ${total.failed} failed`);
// An explicit exit: an interrupted run may leave handles behind, and nothing is wanted of them any more.
process.exit(interrupted ? 130 : total.failed === 0 ? 0 : 1);

async function runTests(): Promise<void> {
  // Every file is a process of its own, and many start services: the sources need not be compiled anew in each of them.
  process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'node_modules', '.cache', 'waypost');
  const cluster = await startCluster({ settings: FAST_AND_FRAGILE });
  process.env.WAYPOST_TEST_POSTGRES = cluster.url('postgres');
  const options = { root: ROOT, namePatterns, signal: interruption.signal };
  try {
    const concurrency = Math.max(2, Math.min(8, availableParallelism()));
    const run = async (name: string, files: string[], atOnce: number, minutes: number): Promise<void> => {
      if (files.length === 0 || interruption.signal.aborted) return;
      await timed(`${name} (${files.length} files)`, async () =>
        add(await runTestFiles(files, { ...options, concurrency: atOnce, timeout: minutes * MINUTE })),
      );
    };
    await run('tests', ordinary, concurrency, 5);
    // They wait more than they work: for processes that start, for pauses between tries, for leases to end.
    await run('heavy tests, a few at a time', heavy, HEAVY_AT_ONCE, 20);
    await run('tests that need the machine for themselves', solo, 1, 10);
  } finally {
    await cluster.stop();
  }
}
