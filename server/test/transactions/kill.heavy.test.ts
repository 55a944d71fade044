/**
 * Real processes, killed at random: the service and two banks whose accounts take part in its transactions.
 * WAYPOST_CRASH_SEED repeats the moments of the kills, WAYPOST_KILL_SECONDS sets how long it goes on.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type CrashNode, createNode, type Data } from '../../../testing/crash/node.ts';
import { chooseSeed, type Random, seededRandom } from '../../../testing/crash/random.ts';
import { freshDatabase } from '../../../testing/databases.ts';
import { eventually } from '../../../testing/eventually.ts';
import { temporaryFolder } from '../../../testing/folders.ts';
import { request } from '../../../testing/http.ts';
import { ACCOUNTS, type Books, OPENING } from './bank.ts';
import { contradictions, stepsOf } from './trace.ts';
import { type Attempt, transfer } from './transfers.ts';

const SECONDS = Number(process.env.WAYPOST_KILL_SECONDS ?? 25);
const CLIENTS = 6;
const LEDGER = 'ledger';
const BANK = join(import.meta.dirname, 'bank.ts');

async function killAtRandom(nodes: readonly CrashNode[], random: Random, until: number): Promise<number> {
  let kills = 0;
  while (performance.now() < until) {
    await pause(300 + random.below(1200));
    const node = random.pick(nodes);
    await node.kill();
    kills++;
    await pause(random.below(800));
    await node.start();
  }
  return kills;
}

async function goOn(until: number, random: Random, make: () => Promise<Attempt | undefined>): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  while (performance.now() < until) {
    const attempt = await make();
    if (attempt !== undefined) attempts.push(attempt);
    else await pause(20 + random.below(50));
  }
  return attempts;
}

const UNFINISHED = ['uncommitted', 'preparing', 'committing', 'rolling-back'];

/** Nothing is under way and nobody is prepared. */
async function quiet(manager: string, banks: readonly CrashNode[]): Promise<void> {
  for (const state of UNFINISHED) {
    await eventually(
      `no transaction is ${state}`,
      async () => {
        const list = await request(`${manager}/transaction-manager?state=${state}`);
        return list.json<{ items: unknown[] }>().items.length === 0;
      },
      90_000,
    );
  }
  await eventually('no account is prepared', async () => {
    const books = await Promise.all(banks.map(booksOf));
    return books.every(({ transfers }) => transfers.every(({ states }) => states.at(-1) !== 'prepared'));
  });
}

const booksOf = async ({ url }: CrashNode): Promise<Books> => (await request(`${url}/books`)).json<Books>();

async function messagesIn(manager: string): Promise<string[]> {
  const texts: string[] = [];
  for (;;) {
    const answer = await request(`${manager}/queues/${LEDGER}/receiving`, { method: 'POST' });
    if (answer.status !== 200) return texts.sort();
    texts.push(answer.text());
  }
}

async function survives(data: Data, nodes: number, note: (text: string) => void): Promise<void> {
  const seed = chooseSeed();
  // At once, so that it is known even when the test never ends.
  console.log(`kill test: WAYPOST_CRASH_SEED=${seed}`);
  const random = seededRandom(seed);
  const managers: CrashNode[] = [];
  for (let n = 0; n < nodes; n++) managers.push(await createNode(data));
  const banks = [
    await createNode({ data: temporaryFolder(), program: [BANK] }),
    await createNode({ data: temporaryFolder(), program: [BANK] }),
  ];
  const everyone = [...managers, ...banks];
  try {
    const until = performance.now() + SECONDS * 1000;
    const make = async (): Promise<Attempt | undefined> =>
      managers.some(({ up }) => up) ? transfer({ managers, banks, random, ledger: LEDGER }) : undefined;
    const [kills, ...made] = await Promise.all([
      killAtRandom(everyone, random, until),
      ...Array.from({ length: CLIENTS }, () => goOn(until, random, make)),
    ]);
    const attempts = made.flat();
    const manager = managers[0]?.url ?? '';
    await quiet(manager, banks);
    const committed = await judge(manager, attempts, await Promise.all(banks.map(booksOf)));
    assert.deepEqual(await messagesIn(manager), [...committed].sort(), 'a message for each transfer, and no other');
    note(`seed ${seed}: ${attempts.length} transfers, ${committed.size} committed, ${kills} kills`);
    assert.ok(committed.size > 0 && committed.size < attempts.length, 'both outcomes were seen');
  } finally {
    for (const each of everyone) await each.kill();
  }
}

/** All agree with the transaction, and clients were told the truth. Gives what committed. */
async function judge(manager: string, attempts: readonly Attempt[], books: readonly Books[]): Promise<Set<string>> {
  const sum = books.flatMap(({ balances }) => balances).reduce((total, balance) => total + balance, 0);
  assert.equal(sum, 2 * ACCOUNTS * OPENING, 'money was made or lost');
  for (const { balances } of books) assert.ok(balances.every((balance) => balance >= 0));
  const legs = Map.groupBy(
    books.flatMap(({ transfers }, bank) => transfers.map((each) => ({ ...each, who: `bank ${bank}` }))),
    ({ transaction }) => new URL(transaction).pathname,
  );
  const committed = new Set<string>();
  for (const { transaction, told } of attempts) {
    const shown = await request(manager + transaction, { headers: { accept: 'application/json' } });
    const { state } = shown.json<{ state: string }>();
    assert.match(state, /^(committed|rolled-back)$/, transaction);
    if (state === 'committed') committed.add(transaction);
    if (told !== undefined) assert.equal(told, state, `${transaction}: the client was told something else`);
    const own = legs.get(transaction) ?? [];
    const trace = own.flatMap(({ who, id, states }) => states.map((each) => ({ who: `${who}, ${id}`, state: each })));
    assert.deepEqual([...stepsOf(trace), ...contradictions(trace)], [], transaction);
    const ends = own.map(({ states }) => states.at(-1));
    if (state === 'committed') assert.deepEqual(ends, ['committed', 'committed'], transaction);
    else assert.ok(!ends.includes('committed') && !ends.includes('prepared'), `${transaction}: ${ends}`);
  }
  return committed;
}

describe('transactions of processes that are killed', () => {
  test('SQLite', { timeout: 600_000 }, (t) => survives({ data: temporaryFolder() }, 1, (text) => t.diagnostic(text)));

  test('PostgreSQL, two nodes', { timeout: 600_000 }, async (t) => {
    const { url, drop } = await freshDatabase();
    await survives({ database: url }, 2, (text) => t.diagnostic(text));
    await drop();
  });
});
