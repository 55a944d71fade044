/** What a scenario is, and what it is given to run with. */
import type { Cluster } from '../testing/postgres.ts';
import type { WaypostOptions, WaypostProcess } from '../testing/waypost.ts';
import type { Engine } from './filled-store.ts';
import type { Load } from './load.ts';

/** What a figure must reach. `text` completes "at least 0.5 of a bare server" and the like. */
export type Target = { readonly text: string } & (
  | { readonly atLeast: number }
  | { readonly atMost: number }
  | { readonly below: number }
);

export interface Figure {
  /** What was measured, beside the name of the scenario; '' when the name says it all. */
  readonly label: string;
  readonly value: number;
  /** How the value is written: a ratio has no unit. */
  readonly unit: 'ratio' | 'MiB' | 'KiB' | 'ms' | '/s';
  /** What the value was made from, for the reader. */
  readonly detail: string;
  /** False for a figure that is shown without being judged by the scenario's target. */
  readonly judged?: boolean;
}

export interface Context {
  /** Smaller sizes and fewer rounds: the whole run takes about a minute, and its figures are rough. */
  readonly quick: boolean;
  /** How many times each contender has its turn. */
  readonly rounds: number;
  /** Seconds of one turn. */
  readonly seconds: number;
  /** How many messages "a million waiting" are in this run. */
  readonly million: number;
  readonly load: Load;
  /** Tells what is being done now. */
  note(text: string): void;
  /** Starts Waypost; it is stopped when the scenario is over. */
  waypost(options?: WaypostOptions): Promise<WaypostProcess>;
  /** The port of the bare Fastify server that is the yardstick. One for the whole run. */
  bare(): Promise<number>;
  /** A durable PostgreSQL server, one for the whole run. */
  cluster(): Promise<Cluster>;
  /** A place for Waypost's data with a queue of a million and one of a thousand messages. Filled once per engine. */
  filled(engine: Engine): Promise<WaypostOptions>;
  /** A place with a million consumers that have three entitlements each. Filled once per engine. */
  registered(engine: Engine): Promise<WaypostOptions>;
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  /** Left out where there is nothing to reach, only to know. */
  readonly target?: Target;
  run(context: Context): Promise<Figure[]>;
}

export function isReached(target: Target, value: number): boolean {
  if ('atLeast' in target) return value >= target.atLeast;
  return 'atMost' in target ? value <= target.atMost : value < target.below;
}
