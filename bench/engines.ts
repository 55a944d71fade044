/** Scenarios that measure the same on both engines. */
import { temporaryFolder } from '../testing/folders.ts';
import type { WaypostOptions, WaypostProcess } from '../testing/waypost.ts';
import { type Engine, type Filling, fillStore } from './filled-store.ts';
import type { Context, Figure } from './scenario.ts';

export const ENGINES: readonly Engine[] = ['sqlite', 'postgresql'];

/** Measures on each engine with a service of its own, whose queues were filled before it started. */
export async function onEachEngine(
  context: Context,
  fillings: readonly Filling[],
  measure: (waypost: WaypostProcess, engine: Engine) => Promise<readonly Figure[]>,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const engine of ENGINES) {
    const place = await placeFor(context, engine);
    if (fillings.length > 0) await fillStore(place, fillings, context.note);
    figures.push(...(await measure(await context.waypost(place), engine)));
  }
  return figures;
}

/** A fresh, empty place for the data of one service. */
export const placeFor = async (context: Context, engine: Engine): Promise<WaypostOptions> =>
  engine === 'sqlite' ? { data: temporaryFolder() } : { database: await (await context.cluster()).createDatabase() };
