/**
 * Contenders that take turns: A B, B A, A B … Whatever else the machine does hits all of them, and each turn of one is
 * compared with the turn of the other beside it. Nobody is always the first: a machine that becomes busier, or a program
 * that is still warming up, would be to one side's cost in every round.
 */

import { watchStolen } from './stolen.ts';

/** A round in which the host took more than this share of the processors does not count, and is repeated. */
const MOST_STOLEN = 0.05;

/** How many turns a contender may have in so many rounds, repeated ones and the one to warm up included. */
export const mostTurns = (rounds: number): number => 2 * rounds + 1;

/** Anything that has its turn and tells how it did: a rate, or a time. */
export interface Contender {
  readonly name: string;
  turn(): Promise<number>;
}

export interface Rounds {
  /** Of each contender by name: what its turns gave. */
  readonly turns: ReadonlyMap<string, readonly number[]>;
  median(name: string): number;
  /** The median of the ratios of neighbouring turns, with the smallest and the largest of them. */
  ratio(name: string, to: string): { median: number; least: number; most: number };
}

export async function takeTurns(
  contenders: readonly Contender[],
  rounds: number,
  note: (text: string) => void,
  stolen = watchStolen(),
): Promise<Rounds> {
  const turns = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  let repeats = 0;
  for (let round = 0; round < rounds; ) {
    const outcomes: [string, number][] = [];
    stolen();
    for (const { name, turn } of round % 2 === 0 ? contenders : contenders.toReversed()) {
      note(`round ${round + 1} of ${rounds}: ${name}${repeats > 0 ? ` (${repeats} repeated)` : ''}`);
      outcomes.push([name, await turn()]);
    }
    if (stolen() > MOST_STOLEN && repeats < rounds) {
      repeats++;
      continue;
    }
    for (const [name, outcome] of outcomes) turns.get(name)?.push(outcome);
    round++;
  }
  const of = (name: string): readonly number[] => turns.get(name) ?? [];
  return {
    turns,
    median: (name) => median(of(name)),
    ratio(name, to) {
      const ratios = of(name).map((value, round) => value / (of(to)[round] ?? Number.NaN));
      return { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
    },
  };
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which that share of the values lies, between two of them by proportion. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}
