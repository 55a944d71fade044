/** Everything a run starts, each when it is first needed, and ends again. */
import { fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../testing/folders.ts';
import { guardProcess } from '../testing/guard.ts';
import { type Cluster, startCluster } from '../testing/postgres.ts';
import { startWaypost, type WaypostOptions, type WaypostProcess } from '../testing/waypost.ts';
import { fillWithConsumers } from './filled-consumers.ts';
import { type Engine, fillStore } from './filled-store.ts';
import { startLoad } from './load.ts';
import type { Context } from './scenario.ts';
import { BODY_BYTES } from './throughput.ts';

export interface RunOptions {
  readonly quick: boolean;
  /** A folder for CPU profiles of every Waypost that is started. */
  readonly profile: string | undefined;
  note(text: string): void;
}

export interface Run {
  /** A context for one scenario; `end` stops what the scenario started. */
  begin(): { context: Context; end(): Promise<void> };
  close(): Promise<void>;
}

const ROOT = join(import.meta.dirname, '..');

export function openRun({ quick, profile, note }: RunOptions): Run {
  const load = startLoad();
  const million = quick ? 100_000 : 1_000_000;
  const stored = new Map<Engine, Promise<WaypostOptions>>();
  const registries = new Map<Engine, Promise<WaypostOptions>>();
  let cluster: Promise<Cluster> | undefined;
  let bare: Promise<{ port: number; stop(): void }> | undefined;

  const getCluster = (): Promise<Cluster> => {
    note('starting PostgreSQL');
    cluster ??= startCluster();
    return cluster;
  };

  const newPlace = async (engine: Engine): Promise<WaypostOptions> =>
    engine === 'sqlite' ? { data: temporaryFolder() } : { database: await (await getCluster()).createDatabase() };

  async function fill(engine: Engine): Promise<WaypostOptions> {
    const place = await newPlace(engine);
    // The memory is measured on SQLite alone. To PostgreSQL a short body is as good, and filled in half the time.
    const bodyBytes = engine === 'sqlite' ? BODY_BYTES : 100;
    const queues = [
      { queue: 'million', messages: million, bodyBytes },
      { queue: 'thousand', messages: 1000, bodyBytes },
    ];
    await fillStore(place, queues, note);
    return place;
  }

  async function register(engine: Engine): Promise<WaypostOptions> {
    const place = await newPlace(engine);
    await fillWithConsumers(place, million, note);
    return place;
  }

  /** Filled when it is first needed, and kept for the rest of the run. */
  function once(places: Map<Engine, Promise<WaypostOptions>>, make: (engine: Engine) => Promise<WaypostOptions>) {
    return (engine: Engine): Promise<WaypostOptions> => {
      const place = places.get(engine) ?? make(engine);
      places.set(engine, place);
      return place;
    };
  }

  return {
    begin() {
      const started: WaypostProcess[] = [];
      const context: Context = {
        quick,
        rounds: quick ? 3 : 15,
        seconds: quick ? 1 : 0.4,
        million,
        load,
        note,
        async waypost(options = {}) {
          note('starting Waypost');
          const waypost = await startWaypost({ ...options, ...(profile && { program: profiled(profile) }) });
          started.push(waypost);
          return waypost;
        },
        async bare() {
          bare ??= startBare();
          return (await bare).port;
        },
        cluster: getCluster,
        filled: once(stored, fill),
        registered: once(registries, register),
      };
      return {
        context,
        async end() {
          for (const waypost of started) await waypost.stop();
        },
      };
    },
    async close() {
      await load.close();
      (await bare)?.stop();
      await (await cluster)?.stop();
      for (const place of [...stored.values(), ...registries.values()]) {
        const { data } = await place;
        if (data !== undefined) rmSync(data, { recursive: true, force: true });
      }
    },
  };
}

const profiled = (folder: string): string[] => [
  '--cpu-prof',
  `--cpu-prof-dir=${folder}`,
  join(ROOT, 'cli', 'waypost.ts'),
  'serve',
];

function startBare(): Promise<{ port: number; stop(): void }> {
  const child = fork(join(import.meta.dirname, 'bare-server.ts'));
  const release = child.pid === undefined ? () => {} : guardProcess(child.pid);
  child.once('exit', release);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`the bare server ended with ${code}`)));
    child.once('message', (port) => resolve({ port: Number(port), stop: () => void child.kill() }));
  });
}
