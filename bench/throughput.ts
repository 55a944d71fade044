/** What the scenarios of throughput share: 64 connections that take turns with a bare server. */
import type { FloodOrder, FloodResult, Steps } from './load.ts';
import { type Contender, median, mostTurns, type Rounds, takeTurns } from './rounds.ts';
import type { Context, Figure } from './scenario.ts';

export const CONNECTIONS = 64;
export const BODY_BYTES = 1024;
/** Seconds of each turn that do not count. */
const WARM_UP = { long: 0.1, short: 0.05 };
/**
 * A turn is cut into so many short ones. A host is fast one moment and half as fast the next: the ratios of many short turns
 * to their neighbours differ by less, from run to run, than those of a few long ones.
 */
const CUTS = 4;
/** Seconds of the turn that is thrown away. */
const FIRST_TURN = 1;

export interface FloodTarget {
  readonly name: string;
  readonly ports: readonly number[];
  readonly path: string;
  readonly bodyBytes?: number;
  readonly status: number;
  /** Other requests than a post of `bodyBytes` to the path. */
  readonly request?: FloodOrder['request'];
  /** Clients that follow links, instead of requests. */
  readonly steps?: Steps;
  /** 64 unless given. */
  readonly connections?: number;
  /** Messages that each answer stands for; 1 unless given. */
  readonly messages?: number;
  /** What is to be done after each turn, outside of what is measured. */
  readonly tidyUp?: () => Promise<void>;
}

export const post = (name: string, ports: readonly number[], path: string): FloodTarget => ({
  name,
  ports,
  path,
  bodyBytes: BODY_BYTES,
  status: 204,
});

/** The same post of 1 KiB to a server that only reads it. */
export const barePost = async (context: Context): Promise<FloodTarget> =>
  post('bare Fastify', [await context.bare()], '/queues/bench');

/** The most seconds for which a target may be flooded, so that whoever fills its queue can fill it with enough. */
export function longestFlood({ rounds, seconds }: Context): number {
  const opening = 0.05;
  const cut = mostTurns(rounds * CUTS) * (seconds / CUTS + WARM_UP.short + opening);
  return FIRST_TURN + Math.max(cut, mostTurns(rounds) * (seconds + WARM_UP.long + opening));
}

/**
 * Lets the targets take turns. The first turns are thrown away: the servers compile their code in them. `whole`: turns are
 * not cut, for requests that take long, of which a short turn would see the beginning and the end.
 */
export async function floodInTurns(
  context: Context,
  targets: readonly FloodTarget[],
  { whole = false }: { whole?: boolean } = {},
): Promise<Rounds & { readonly busiest: number }> {
  const busy: number[] = [];
  const cuts = whole ? 1 : CUTS;
  const warmUp = whole ? WARM_UP.long : WARM_UP.short;
  const floodOnce = async (target: FloodTarget, seconds: number): Promise<FloodResult> => {
    const { ports, path, bodyBytes = 0, status, steps, connections = CONNECTIONS } = target;
    const headers = bodyBytes === 0 ? {} : { 'Content-Type': 'application/octet-stream' };
    const request = target.request ?? { method: 'POST', path, headers, bodyBytes };
    const common = { ports, connections, until: { seconds }, warmUp };
    const result =
      steps === undefined
        ? await context.load.flood({ ...common, request, status })
        : await context.load.follow({ ...common, steps });
    await target.tidyUp?.();
    return result;
  };
  for (const target of targets) {
    context.note(`warming up ${target.name}`);
    await floodOnce(target, FIRST_TURN);
  }
  const contenders: Contender[] = targets.map((target) => ({
    name: target.name,
    async turn() {
      const result = await floodOnce(target, context.seconds / cuts);
      busy.push(result.busy);
      return result.rate * (target.messages ?? 1);
    },
  }));
  const rounds = await takeTurns(contenders, context.rounds * cuts, context.note);
  return { ...rounds, busiest: median(busy) };
}

/** The rate of one target as a ratio to that of another. */
export function ratioFigure(
  rounds: Rounds & { readonly busiest: number },
  label: string,
  [name, to]: readonly [string, string],
): Figure {
  const { median, least, most } = rounds.ratio(name, to);
  const rate = (of: string): string => `${Math.round(rounds.median(of)).toLocaleString('en')}/s`;
  return {
    label,
    value: median,
    unit: 'ratio',
    detail: `${rate(name)} to ${rate(to)}; rounds ${least.toFixed(2)} to ${most.toFixed(2)}; generator ${Math.round(rounds.busiest * 100)} % busy`,
  };
}
