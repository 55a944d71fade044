import type { Engine } from '../filled-store.ts';
import { median, takeTurns } from '../rounds.ts';
import type { Context, Figure, Scenario } from '../scenario.ts';
import { BODY_BYTES } from '../throughput.ts';

/** Receives of one turn. The thousand must stay about a thousand, so what was taken is posted again after each. */
const RECEIVES = 200;
const TURNS = 3;

/** The time of a receive from a queue with a million waiting, to that from one with a thousand in the same database. */
export const queueDepth: Scenario = {
  name: 'queue-depth',
  about: 'time of a receive with a million messages waiting, to that with a thousand waiting in the same database',
  target: { atMost: 1.25, text: 'at most 1.25' },
  async run(context) {
    return [await measure(context, 'sqlite'), await measure(context, 'postgresql')];
  },
};

async function measure(context: Context, engine: Engine): Promise<Figure> {
  const { port } = await context.waypost(await context.filled(engine));
  const contender = (queue: string) => ({
    name: queue,
    async turn() {
      const common = { ports: [port], connections: 1, until: { answers: RECEIVES } };
      const receive = { method: 'POST', path: `/queues/${queue}/receiving` };
      const { times } = await context.load.flood({ ...common, request: receive, status: 200 });
      const refill = { method: 'POST', path: `/queues/${queue}`, bodyBytes: BODY_BYTES };
      await context.load.flood({ ...common, request: refill, status: 204 });
      return median(times as unknown as number[]);
    },
  });
  const contenders = [contender('million'), contender('thousand')];
  context.note(`${engine}: warming up`);
  for (const { turn } of contenders) await turn();
  const rounds = await takeTurns(contenders, context.rounds * TURNS, (text) => context.note(`${engine}, ${text}`));
  const { median: value, least, most } = rounds.ratio('million', 'thousand');
  const milliseconds = (queue: string): string => `${rounds.median(queue).toFixed(2)} ms`;
  return {
    label: engine,
    value,
    unit: 'ratio',
    detail: `${milliseconds('million')} with ${context.million.toLocaleString('en')} to ${milliseconds('thousand')} with 1,000; rounds ${least.toFixed(2)} to ${most.toFixed(2)}`,
  };
}
