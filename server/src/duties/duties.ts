/** The background duties of a node: one file each, started and stopped together. */
import type { Messaging } from '../messaging/messaging.ts';
import type { Membership } from '../nodes/membership.ts';
import type { Store } from '../store/store.ts';
import { createOwnership } from './ownership.ts';
import { createPromoter } from './promote.ts';
import { createPruner } from './prune.ts';
import { sweepDoomed } from './sweep.ts';

/** Does a bounded piece of work that is due; tells in how many milliseconds it wants to run again. */
export type Duty = () => Promise<number>;

export interface Duties {
  start(): void;
  stop(): Promise<void>;
  /** Has a duty run now: there is something for it to do. */
  wake(name: string): void;
  /** Runs every duty until nothing more is due now. */
  runOnce(): Promise<void>;
}

export interface DutyOptions {
  /** Milliseconds a client-chosen id is remembered after its message left. */
  readonly rememberIds: number;
  readonly onError: (duty: string, error: unknown) => void;
  /** Duties of other areas, by their names. */
  readonly others: Readonly<Record<string, Duty>>;
}

const AFTER_ERROR = 1000;
const PROMOTE = 'promote what is due';
const PRUNE = 'prune what is over';
const SWEEP = 'sweep deleted destinations';

export function createDuties(store: Store, membership: Membership, messaging: Messaging, options: DutyOptions): Duties {
  const owned = createOwnership(store, membership);
  const duties: Readonly<Record<string, Duty>> = {
    'look for missed arrivals': async () => {
      await messaging.lookForMissed();
      return 1000;
    },
    [PROMOTE]: createPromoter(messaging, store),
    [PRUNE]: owned('prune', createPruner(store, options.rememberIds)),
    [SWEEP]: owned('sweep', () => sweepDoomed(store)),
    ...options.others,
  };
  const timers = new Map<string, { timer: NodeJS.Timeout; at: number }>();
  const running = new Set<Promise<void>>();
  let stopped = false;

  async function runAndRearm(name: string): Promise<void> {
    let next = AFTER_ERROR;
    try {
      next = await (duties[name] as Duty)();
    } catch (error) {
      options.onError(name, error);
    }
    arm(name, next);
  }

  /** Runs the duty after that long, or earlier if it is armed for an earlier time already. */
  function arm(name: string, after: number): void {
    if (stopped) return;
    const at = performance.now() + after;
    const armed = timers.get(name);
    if (armed !== undefined && armed.at <= at) return;
    clearTimeout(armed?.timer);
    const timer = setTimeout(() => {
      timers.delete(name);
      const run: Promise<void> = runAndRearm(name).finally(() => running.delete(run));
      running.add(run);
    }, after);
    timers.set(name, { timer, at });
  }

  return {
    start() {
      messaging.onScheduled((at) => arm(PROMOTE, Math.max(0, at - store.now())));
      // What a lost node did is done by another at once.
      membership.onGone(() => {
        for (const name of [PRUNE, SWEEP]) arm(name, 0);
      });
      for (const name of Object.keys(duties)) arm(name, 0);
    },
    async stop() {
      stopped = true;
      for (const { timer } of timers.values()) clearTimeout(timer);
      await Promise.all(running);
    },
    wake: (name) => arm(name, 0),
    async runOnce() {
      for (const duty of Object.values(duties)) while ((await duty()) === 0);
    },
  };
}
