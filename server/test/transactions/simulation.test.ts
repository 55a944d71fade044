import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { seededRandom } from '../../../testing/crash/random.ts';
import { temporaryFolder } from '../../../testing/folders.ts';
import { openSqlite } from '../../src/store/sqlite/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { type Behaviour, modelParticipant } from './participant-model.ts';
import { type Clock, checkAgreement, type Fate, runTransaction, type World } from './simulation.ts';
import type { Entered } from './trace.ts';

/** WAYPOST_SEED replays one schedule; WAYPOST_RUNS sets how many are tried. */
const SEED = process.env.WAYPOST_SEED;
const RUNS = Number(process.env.WAYPOST_RUNS ?? 800);

describe('two-phase commit in a simulated world', () => {
  let store: Store;
  const clock: Clock = { time: 1_800_000_000_000 };

  before(async () => {
    // In memory where the system has such a place: what is tested is the order of the steps, not the disk.
    store = await openSqlite(temporaryFolder({ inMemory: true }), { now: () => clock.time, reserveBytes: 0 });
  });
  after(() => store.close());

  function worldOf(
    behaviours: readonly Behaviour[],
    more: Pick<World, 'fateOf' | 'crashesAt' | 'pausesAt' | 'rollsBackAt' | 'failsAt'>,
  ): World {
    const trace: Entered[] = [];
    const participants = behaviours.map((behaviour, index) =>
      modelParticipant(`http://p${index}.example/state`, behaviour, trace),
    );
    return { store, clock, trace, participants, ...more };
  }
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
    checkAgreement(world, view, told);
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
          checkAgreement(world, view, told);
        }
      }
    });
  }

  it('agrees when the store fails at any one write, written or not', async () => {
    let writes = 0;
    const counted = worldOf(['ordinary', 'ordinary'], {
      fateOf: through,
      crashesAt: () => false,
      failsAt: () => {
        writes++;
        return undefined;
      },
    });
    await runTransaction(counted);
    assert.ok(writes > 3, `only ${writes} writes`);
    for (const failure of ['not written', 'not confirmed'] as const) {
      for (let fails = 0; fails < writes; fails++) {
        let passed = 0;
        const failsAt = () => (passed++ === fails ? failure : undefined);
        const world = worldOf(['ordinary', 'ordinary'], { fateOf: through, crashesAt: () => false, failsAt });
        const { view, told } = await runTransaction(world);
        checkAgreement(world, view, told);
      }
    }
  });

  it('agrees when a node stands still at any point and goes on after another took over', async () => {
    const cast: Behaviour[] = ['forgetful', 'ordinary'];
    let points = 0;
    const count = () => {
      points++;
      return false;
    };
    await runTransaction(worldOf(cast, { fateOf: through, crashesAt: () => false, pausesAt: count }));
    assert.ok(points > 8, `only ${points} points`);
    for (let pause = 0; pause < points; pause++) {
      let passed = 0;
      const world = worldOf(cast, {
        fateOf: through,
        crashesAt: () => false,
        pausesAt: () => passed++ === pause,
      });
      const { view, told } = await runTransaction(world);
      checkAgreement(world, view, told);
    }
  });

  it('agrees when another node is asked to roll back at any point, and the first one crashes there or not', async () => {
    const cast: Behaviour[] = ['forgetful', 'ordinary', 'read-only'];
    for (const crashes of [false, true]) {
      const outcomes = new Set<string>();
      for (let at = 0, isAsked = true; isAsked; at++) {
        let passed = 0;
        let mayCrash = crashes;
        isAsked = false;
        const world = worldOf(cast, {
          fateOf: through,
          crashesAt: () => {
            if (!isAsked || !mayCrash) return false;
            mayCrash = false;
            return true;
          },
          rollsBackAt: () => {
            isAsked = passed++ === at;
            return isAsked;
          },
        });
        const { view, told } = await runTransaction(world);
        checkAgreement(world, view, told);
        outcomes.add(view.transaction.state);
      }
      assert.deepEqual([...outcomes].sort(), ['committed', 'rolled-back']);
    }
  });

  it(`agrees whatever happens (${SEED ?? `${RUNS} schedules`})`, async (t) => {
    const seeds = SEED === undefined ? Array.from({ length: RUNS }, (_, index) => index + 1) : [Number(SEED)];
    let committed = 0;
    for (const seed of seeds) {
      const random = seededRandom(seed).fraction;
      const behaviours = Array.from({ length: 1 + Math.floor(random() * 4) }, () => behaviourFrom(random()));
      const trouble = random() * 0.4;
      const [crashRate, pauseRate, failRate] = [random() * 0.04, random() * 0.06, random() * 0.06];
      const rollBackRate = random() < 0.5 ? 0 : random() * 0.05;
      const world = worldOf(behaviours, {
        fateOf: () => fateFrom(random, trouble),
        crashesAt: () => random() < crashRate,
        pausesAt: () => random() < pauseRate,
        rollsBackAt: () => random() < rollBackRate,
        failsAt: () => (random() >= failRate ? undefined : random() < 0.5 ? 'not written' : 'not confirmed'),
      });
      try {
        const { view, told } = await runTransaction(world);
        checkAgreement(world, view, told);
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
