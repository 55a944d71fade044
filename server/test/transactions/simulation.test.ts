import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { temporaryFolder } from '../../../testing/folders.ts';
import { openSqlite } from '../../src/store/sqlite/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { type Behaviour, modelParticipant } from './participant-model.ts';
import { type Clock, checkAgreement, type Fate, runTransaction, type World } from './simulation.ts';

/** WAYPOST_SEED replays one schedule; WAYPOST_RUNS sets how many are tried. */
const SEED = process.env.WAYPOST_SEED;
const RUNS = Number(process.env.WAYPOST_RUNS ?? 2000);

describe('two-phase commit in a simulated world', () => {
  let store: Store;
  const clock: Clock = { time: 1_800_000_000_000 };

  before(async () => {
    // In memory where the system has such a place: what is tested is the order of the steps, not the disk.
    store = await openSqlite(temporaryFolder({ inMemory: true }), { now: () => clock.time, reserveBytes: 0 });
  });
  after(() => store.close());

  const worldOf = (behaviours: readonly Behaviour[], more: Pick<World, 'fateOf' | 'crashesAt'>): World => ({
    store,
    clock,
    participants: behaviours.map((behaviour, index) => modelParticipant(`http://p${index}.example/state`, behaviour)),
    ...more,
  });
  const through = (): Fate => 'through';

  /** The points of a run without a crash, so that each of them can be tried. */
  async function countPoints(behaviours: readonly Behaviour[]): Promise<number> {
    let points = 0;
    const crashesAt = (): boolean => {
      points++;
      return false;
    };
    const world = worldOf(behaviours, { fateOf: through, crashesAt });
    const { view, told } = await runTransaction(world);
    checkAgreement(world.participants, view, told);
    return points;
  }

  const casts: readonly (readonly Behaviour[])[] = [
    ['ordinary', 'ordinary'],
    ['ordinary', 'refuses'],
    ['ordinary', 'read-only'],
    ['forgetful', 'ordinary', 'ordinary'],
  ];

  for (const cast of casts) {
    it(`agrees after a crash at every point, and at every pair of points: ${cast.join(', ')}`, async () => {
      const points = await countPoints(cast);
      assert.ok(points > 8, `only ${points} points were found`);
      for (let first = 0; first < points; first++) {
        for (const second of [undefined, ...Array.from({ length: points }, (_, index) => first + 1 + index)]) {
          let passed = 0;
          const crashesAt = (): boolean => {
            const here = passed++;
            return here === first || here === second;
          };
          const world = worldOf(cast, { fateOf: through, crashesAt });
          const { view, told, crashes } = await runTransaction(world);
          assert.ok(crashes > 0, `no crash at point ${first}`);
          checkAgreement(world.participants, view, told);
        }
      }
    });
  }

  it(`agrees whatever the network and the crashes do (${SEED ?? `${RUNS} schedules`})`, async (t) => {
    const seeds = SEED === undefined ? Array.from({ length: RUNS }, (_, index) => index + 1) : [Number(SEED)];
    let committed = 0;
    for (const seed of seeds) {
      const random = randomFrom(seed);
      const behaviours = Array.from({ length: 1 + Math.floor(random() * 4) }, () => behaviourFrom(random()));
      const trouble = random() * 0.4;
      const crashRate = random() * 0.05;
      const world = worldOf(behaviours, {
        fateOf: () => fateFrom(random, trouble),
        crashesAt: () => random() < crashRate,
      });
      try {
        const { view, told } = await runTransaction(world);
        checkAgreement(world.participants, view, told);
        if (view.transaction.state === 'committed') committed++;
      } catch (error) {
        throw new Error(`replay with WAYPOST_SEED=${seed}`, { cause: error });
      }
    }
    t.diagnostic(`${committed} of ${seeds.length} committed`);
    if (SEED === undefined) assert.ok(committed > RUNS / 10 && committed < RUNS, 'both outcomes must have been seen');
  });
});

function behaviourFrom(value: number): Behaviour {
  if (value < 0.08) return 'refuses';
  if (value < 0.15) return 'read-only';
  return value < 0.4 ? 'forgetful' : 'ordinary';
}

/** Stragglers arrive within the time that a request may take. */
function fateFrom(random: () => number, trouble: number): Fate {
  if (random() >= trouble) return 'through';
  const value = random();
  if (value < 0.4) return 'lost';
  return value < 0.8 ? 'answer lost' : { straggles: Math.floor(random() * 15_000) };
}

/** A small generator of good quality (mulberry32): the same seed gives the same schedule on every machine. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
