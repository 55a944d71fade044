import { FIRST, firstOfHeavy } from '../../server/src/consumers/filling.fixtures.ts';
import { heavyConsumer, MANY } from '../filled-consumers.ts';
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
      for (const list of listsOf(context.million)) figures.push(await measure(context, engine, port, list));
    }
    return figures;
  },
};

interface List {
  readonly label: string;
  readonly path: string;
  /** The cursors between which it is walked; undefined: from its beginning. */
  readonly first: string | undefined;
  readonly last: string;
}

/** `last` is a page or two before the end: nobody would walk there for a measurement. */
function listsOf(million: number): List[] {
  const late = FIRST + Math.floor(million / 2) * 2 - 4 * SIZE;
  const heavy = FIRST + heavyConsumer(million);
  const start = firstOfHeavy(heavy);
  return [
    { label: 'consumers', path: '/consumers?', first: undefined, last: `${late}` },
    { label: 'entitlements', path: '/entitlements?', first: undefined, last: `${late}.0` },
    {
      label: `all those of one with ${MANY.toLocaleString('en')}`,
      path: '/entitlements?status=all&',
      first: `${heavy}.${start}`,
      last: `${heavy}.${start + MANY - 2 * SIZE}`,
    },
  ];
}

async function measure(context: Context, engine: Engine, port: number, list: List): Promise<Figure> {
  const contender = (name: string, place: string | undefined) => ({
    name,
    async turn() {
      const cursor = place === undefined ? '' : `&cursor=${Buffer.from(`a${place}`).toString('base64url')}`;
      const path = `${list.path}per_page=${SIZE}${cursor}`;
      const request = { method: 'GET', path, headers: { Accept: 'application/json' } };
      const order = { ports: [port], connections: 1, request, until: { answers: REQUESTS }, status: 200 };
      return median((await context.load.flood(order)).times as unknown as number[]);
    },
  });
  const contenders = [contender('last', list.last), contender('first', list.first)];
  context.note(`${engine}: warming up`);
  for (const { turn } of contenders) await turn();
  const rounds = await takeTurns(contenders, context.rounds * TURNS, (text) => context.note(`${engine}, ${text}`));
  const { median: value, least, most } = rounds.ratio('last', 'first');
  const milliseconds = (name: string): string => `${rounds.median(name).toFixed(2)} ms`;
  return {
    label: `${list.label}, ${engine}`,
    value,
    unit: 'ratio',
    detail: `${milliseconds('last')} to ${milliseconds('first')} a page of ${SIZE}; rounds ${least.toFixed(2)} to ${most.toFixed(2)}`,
  };
}
