import { consumerPath, EACH, heavyConsumer, lightConsumer, MANY } from '../filled-consumers.ts';
import type { Engine } from '../filled-store.ts';
import { median, takeTurns } from '../rounds.ts';
import type { Context, Figure, Scenario } from '../scenario.ts';

/** Requests of one turn: half terminate, half reinstate. */
const REQUESTS = 200;
const TURNS = 3;

/** The time of terminating and reinstating a consumer with very many entitlements, to that of one with three. */
export const cascade: Scenario = {
  name: 'cascade',
  about: 'time of terminating a consumer with 100 000 entitlements, to that of one with three',
  target: { atMost: 1.2, text: 'at most 1.2' },
  async run(context) {
    return [await measure(context, 'sqlite'), await measure(context, 'postgresql')];
  },
};

async function measure(context: Context, engine: Engine): Promise<Figure> {
  const { port } = await context.waypost(await context.registered(engine));
  const contender = (name: string, consumer: number) => ({
    name,
    async turn() {
      const path = consumerPath(consumer);
      const request = ['terminate', 'reinstate'].map((word) => ({ method: 'POST', path: `${path}/${word}` }));
      const order = { ports: [port], connections: 1, request, until: { answers: REQUESTS }, status: 200 };
      return median((await context.load.flood(order)).times as unknown as number[]);
    },
  });
  const contenders = [contender('many', heavyConsumer(context.million)), contender('few', lightConsumer)];
  context.note(`${engine}: warming up`);
  for (const { turn } of contenders) await turn();
  const rounds = await takeTurns(contenders, context.rounds * TURNS, (text) => context.note(`${engine}, ${text}`));
  const { median: value, least, most } = rounds.ratio('many', 'few');
  const milliseconds = (name: string): string => `${rounds.median(name).toFixed(2)} ms`;
  return {
    label: engine,
    value,
    unit: 'ratio',
    detail: `${milliseconds('many')} with ${MANY.toLocaleString('en')} to ${milliseconds('few')} with ${EACH}; rounds ${least.toFixed(2)} to ${most.toFixed(2)}`,
  };
}
