/** Checks many histories. A failure says how to play it again; WAYPOST_SEED and WAYPOST_RUNS come from there. */
import fc from 'fast-check';
import { histories } from './history.ts';
import { playHistory } from './play.ts';
import type { Service } from './service.ts';

export interface Effort {
  readonly runs: number;
  /** Actions in the longest history. */
  readonly length: number;
  readonly restarts: number;
}

/** The same histories every time, so that a test that fails says something of the change; others are for the asking. */
const USUAL_SEED = 1;

/** `WAYPOST_SEED` is a seed, or `seed/path` for one history, or `random` to look where nobody has looked yet. */
export async function checkHistories(service: Service, { runs, length, restarts }: Effort): Promise<void> {
  const [seed, path] = (process.env.WAYPOST_SEED ?? String(USUAL_SEED)).split('/');
  const property = fc.asyncProperty(histories({ length, restarts }), (actions) => playHistory(service, actions));
  const outcome = await fc.check(property, {
    numRuns: Number(process.env.WAYPOST_RUNS ?? runs),
    ...(seed === 'random' ? {} : { seed: Number(seed) }),
    ...(path ? { path } : {}),
  });
  if (!outcome.failed) return;
  const { error, message } = (outcome.errorInstance ?? {}) as Error & { error?: unknown };
  throw new Error(
    [
      `After ${outcome.numRuns} histories and ${outcome.numShrinks} steps of shrinking: ${message}`,
      ...(outcome.counterexample?.[0] ?? []).map((action) => `  ${JSON.stringify(action)}`),
      `Play it again with WAYPOST_SEED=${outcome.seed}/${outcome.counterexamplePath}`,
    ].join('\n'),
    { cause: error ?? outcome.errorInstance },
  );
}
