/** A Waypost service that is killed and started again, on the same port and the same data. */
import { startWaypost, type WaypostOptions, type WaypostProcess } from '../waypost.ts';

export type CrashNode = {
  readonly url: string;
  /** Grows with each kill: whoever had something under way in an earlier life was cut off. */
  readonly life: number;
  readonly up: boolean;
  /** Resolves as soon as it serves; at once when it does. */
  whenUp(): Promise<void>;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Starts and kills it again after so many milliseconds, ready or not. */
  startAndKill(after: number): Promise<void>;
  /** How long each start took, in milliseconds. */
  readonly starts: readonly number[];
};

const PORT_ATTEMPTS = 20;

/** Where a node keeps its data, and perhaps another program that is killed and started in the same way. */
export type Data = Pick<WaypostOptions, 'data' | 'database' | 'program'>;

/** Kills the first starts on fresh data after so many milliseconds each: nothing half made may be left. */
export async function killFirstStarts(options: Data, moments: readonly number[]): Promise<void> {
  for (const moment of moments) {
    await startAndKill((signal) => startWaypost({ ...options, args: ['--log-level', 'warn'], signal }), moment);
  }
}

export async function createNode(options: Data): Promise<CrashNode> {
  let { process, port } = await startSomewhere(options);
  let life = 0;
  let up = true;
  const starts: number[] = [];
  const waiting: (() => void)[] = [];

  const launch = (signal?: AbortSignal): Promise<WaypostProcess> =>
    startWaypost({ ...options, args: argsFor(port), ...(signal && { signal }) });

  return {
    url: process.url,
    get life() {
      return life;
    },
    get up() {
      return up;
    },
    whenUp: () => (up ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    async kill() {
      life++;
      up = false;
      process.kill('SIGKILL');
      await process.exited;
    },
    async start() {
      const begun = performance.now();
      process = await launch();
      starts.push(performance.now() - begun);
      up = true;
      for (const resolve of waiting.splice(0)) resolve();
    },
    startAndKill: (after) => startAndKill(launch, after),
    starts,
  };
}

async function startAndKill(launch: (signal: AbortSignal) => Promise<WaypostProcess>, after: number): Promise<void> {
  const killer = new AbortController();
  const timer = setTimeout(() => killer.abort(), after);
  try {
    const early = await launch(killer.signal);
    early.kill('SIGKILL');
    await early.exited;
  } catch (error) {
    if (!killer.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
}

const argsFor = (port: number): string[] => ['--port', String(port), '--log-level', 'warn'];

/**
 * A port below those the system hands out for outgoing connections: while the service is down, no client of anybody can
 * take it.
 */
async function startSomewhere(options: Data): Promise<{ process: WaypostProcess; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    try {
      return { process: await startWaypost({ ...options, args: argsFor(port) }), port };
    } catch (error) {
      const taken = error instanceof Error && error.message.includes('is in use');
      if (!taken || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}
