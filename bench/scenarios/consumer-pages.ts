import { FIRST } from '../../server/src/consumers/filling.fixtures.ts';
import type { Engine } from '../filled-store.ts';
import { median, takeTurns } from '../rounds.ts';
import type { Context, Figure, Scenario } from '../scenario.ts';

const REQUESTS = 50;
const TURNS = 3;
const SIZE = 100;

/** The time of the last page of a long list, to that of the first. */
export const consumerPages: Scenario = {
  name: 'consumer-pages',
  about: 'time of the last page of a million consumers, and of their entitlements, to that of the first',
  target: { atMost: 1.2, text: 'at most 1.2' },
  async run(context) {
    const figures: Figure[] = [];
    for (const engine of ['sqlite', 'postgresql'] as const) {
      const { port } = await context.waypost(await context.registered(engine));
      for (const list of ['consumers', 'entitlements'] as const) {
        figures.push(await measure(context, engine, port, list));
      }
    }
    return figures;
  },
};

/** A cursor that nobody would walk to: a page or two before the end. */
function cursorOf(list: 'consumers' | 'entitlements', million: number): string {
  const n = FIRST + Math.floor(million / 2) * 2 - 4 * SIZE;
  return Buffer.from(list === 'consumers' ? `a${n}` : `a${n}.0`).toString('base64url');
}

async function measure(
  context: Context,
  engine: Engine,
  port: number,
  list: 'consumers' | 'entitlements',
): Promise<Figure> {
  const contender = (name: string, query: string) => ({
    name,
    async turn() {
      const request = {
        method: 'GET',
        path: `/${list}?per_page=${SIZE}${query}`,
        headers: { Accept: 'application/json' },
      };
      const order = { ports: [port], connections: 1, request, until: { answers: REQUESTS }, status: 200 };
      return median((await context.load.flood(order)).times as unknown as number[]);
    },
  });
  const contenders = [contender('last', `&cursor=${cursorOf(list, context.million)}`), contender('first', '')];
  context.note(`${engine}: warming up`);
  for (const { turn } of contenders) await turn();
  const rounds = await takeTurns(contenders, context.rounds * TURNS, (text) => context.note(`${engine}, ${text}`));
  const { median: value, least, most } = rounds.ratio('last', 'first');
  const milliseconds = (name: string): string => `${rounds.median(name).toFixed(2)} ms`;
  return {
    label: `${list}, ${engine}`,
    value,
    unit: 'ratio',
    detail: `${milliseconds('last')} to ${milliseconds('first')} a page of ${SIZE}; rounds ${least.toFixed(2)} to ${most.toFixed(2)}`,
  };
}
