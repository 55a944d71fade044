/** The crash test: load on one or more nodes, kills at random moments, then the reckoning. */
import { setTimeout as pause } from 'node:timers/promises';
import { createAftermath } from './aftermath.ts';
import { createLedger, DEAD, type Ledger, type Summary } from './ledger.ts';
import { type Load, startLoad } from './load.ts';
import type { CrashNode } from './node.ts';
import { type Random, seededRandom } from './random.ts';

export type CrashOptions = {
  nodes: readonly CrashNode[];
  /** At least so many. There are more, within bounds, as long as none of them has met something that one must meet. */
  kills: number;
  seed: number;
};

export type CrashReport = {
  /** Empty when all is well. */
  faults: string[];
  summary: Summary;
  kills: number;
  /** How many of the starts were killed, too. */
  killedWhileStarting: number;
  /** The median start in milliseconds. */
  start: number;
};

/** The longest a node lives between a start and its kill, in milliseconds. */
const LONGEST_LIFE = 700;
/** What kills have to meet, or the run proves little. */
const MUST_MEET: readonly (keyof Summary)[] = ['retried', 'onceRepeated', 'cutReceives', 'redelivered'];
const MOST_TIMES_MORE = 4;
/** How many starts are killed, too, and within how many milliseconds. */
const FAILED_STARTS = 0.2;
const LONGEST_START = 350;

export async function crash({ nodes, kills, seed }: CrashOptions): Promise<CrashReport> {
  const random = seededRandom(seed);
  const ledger = createLedger();
  const load = startLoad(nodes, seededRandom(random.below(2 ** 32)), ledger);
  try {
    const hasMetAll = (): boolean => {
      const summary = ledger.summary();
      return MUST_MEET.every((name) => summary[name] > 0);
    };
    const killed = await killAtRandom(nodes, kills, random, hasMetAll);
    await load.stop();
    await reckon(nodes, random, ledger, load);
    const starts = nodes.flatMap((node) => node.starts).sort((a, b) => a - b);
    return {
      faults: ledger.faults(),
      summary: ledger.summary(),
      ...killed,
      start: Math.round(starts[Math.floor(starts.length / 2)] ?? 0),
    };
  } finally {
    load.close();
  }
}

async function killAtRandom(
  nodes: readonly CrashNode[],
  atLeast: number,
  random: Random,
  isEnough: () => boolean,
): Promise<Pick<CrashReport, 'kills' | 'killedWhileStarting'>> {
  let kills = 0;
  let killedWhileStarting = 0;
  for (; kills < atLeast || (kills < MOST_TIMES_MORE * atLeast && !isEnough()); kills++) {
    // The moment of the kill is what is random here; nobody waits for anything.
    await pause(random.below(LONGEST_LIFE));
    const node = random.pick(nodes);
    await node.kill();
    if (random.fraction() < FAILED_STARTS) {
      await node.startAndKill(random.below(LONGEST_START));
      killedWhileStarting++;
    }
    await node.start();
  }
  return { kills, killedWhileStarting };
}

/** When nothing is killed any more: takes all that is left, reads on to the end, and looks at what is missing. */
async function reckon(nodes: readonly CrashNode[], random: Random, ledger: Ledger, load: Load): Promise<void> {
  const leased = load.leased.all();
  const queues = [...load.queues.all(), ...leased.map((queue) => queue + DEAD)];
  const aftermath = createAftermath(nodes, random, ledger);
  const takeAll = async (): Promise<number> => (await aftermath.finish(leased)) + (await aftermath.drain(queues));
  await takeAll();
  // What was received stays received, and what was acknowledged stays acknowledged.
  for (const node of nodes) {
    await node.kill();
    await node.start();
  }
  const again = await takeAll();
  if (again > 0) ledger.wrong(`${again} messages were there again after a restart of the emptied queues`);
  await aftermath.readOn(load.readers, load.topics.all());
  await aftermath.look();
  await aftermath.countTopics(load.topics.all());
  aftermath.close();
}
