/**
 * Fills both engines with a million consumers and three million entitlements, prints how each statement of the listings is
 * carried out there, and fails when one scans, sorts or reads more than it gives:
 * `npm run plans`, or `npm run plans -- 10000` for fewer consumers.
 */
import { rmSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { plansOf } from '../server/src/consumers/explain.fixtures.ts';
import { FIRST, firstOfHeavy } from '../server/src/consumers/filling.fixtures.ts';
import { type LookedAt, listingStatements } from '../server/src/consumers/plans.fixtures.ts';
import { openStore } from '../server/src/store/open.ts';
import type { Store } from '../server/src/store/store.ts';
import { temporaryFolder } from '../testing/folders.ts';
import { startCluster } from '../testing/postgres.ts';
import { fillWithConsumers, heavyConsumer, MANY } from './filled-consumers.ts';
import { median } from './rounds.ts';

const RUNS = 5;
const consumers = Number(process.argv[2] ?? 1_000_000);
if (!Number.isSafeInteger(consumers) || consumers < 1000) throw new RangeError('the number of consumers, 1000 or more');

let faulty = 0;

async function timeOf(store: Store, { text, values }: LookedAt): Promise<string> {
  const times: number[] = [];
  let rows = 0;
  for (let run = 0; run < RUNS; run++) {
    const start = performance.now();
    rows = (await store.read((tx) => tx.all(text, values))).length;
    times.push(performance.now() - start);
  }
  return `${rows} rows, ${median(times).toFixed(2)} ms`;
}

async function look(place: { data: string } | { database: string }): Promise<void> {
  await fillWithConsumers(place, consumers, () => {});
  const database = 'database' in place ? place.database : undefined;
  const folder = 'data' in place ? place.data : '';
  const store = await openStore({ database, folder, reserveBytes: 0 }, () => {});
  try {
    const consumer = FIRST + heavyConsumer(consumers);
    const heavy = { consumer, first: firstOfHeavy(consumer), count: MANY };
    process.stdout.write(`\n${store.engine}, ${consumers.toLocaleString('en')} consumers\n`);
    for (const statement of listingStatements(store.dialect, consumers, heavy)) {
      process.stdout.write(`${statement.name}: ${await timeOf(store, statement)}\n`);
      for (const { shown, faults } of await plansOf(store, statement)) {
        process.stdout.write(`    ${shown}\n`);
        for (const fault of faults) process.stdout.write(`    FAULT ${fault}\n`);
        faulty += faults.length;
      }
    }
  } finally {
    await store.close();
  }
}

const folder = temporaryFolder();
const cluster = await startCluster();
try {
  await look({ data: folder });
  await look({ database: await cluster.createDatabase() });
} finally {
  rmSync(folder, { recursive: true, force: true });
  await cluster.stop();
}
process.stdout.write(`\n${faulty === 0 ? 'Every one goes along its index.' : `${faulty} faults`}\n`);
process.exitCode = faulty === 0 ? 0 : 1;
