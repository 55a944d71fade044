import { onEachEngine } from '../engines.ts';
import type { Figure, Scenario } from '../scenario.ts';
import { BODY_BYTES, CONNECTIONS, type FloodTarget, floodInTurns, post, ratioFigure } from '../throughput.ts';

const FEW = 1;
const COUNTS = [100, 10_000];

/** How the cost of a post grows with the number of queues in use. */
export const manyQueues: Scenario = {
  name: 'many-queues',
  about: 'posts of 1 KiB to one queue, to those spread over 100 and over 10 000 queues',
  target: { atMost: 1.3, text: 'at most 1.3' },
  run: (context) =>
    onEachEngine(context, [], async ({ port }, engine) => {
      const nameOf = (count: number): string => `${count.toLocaleString('en')} queue${count === 1 ? '' : 's'}`;
      const targets = [FEW, ...COUNTS].map((count) => {
        const request = Array.from({ length: count }, (_, i) => ({
          method: 'POST',
          path: `/queues/of-${count}-${i}`,
          headers: { 'Content-Type': 'application/octet-stream' },
          bodyBytes: BODY_BYTES,
        }));
        return { ...post(nameOf(count), [port], ''), request };
      });
      // Making a queue is not what is measured.
      for (const { name, request } of targets) {
        context.note(`${engine}: making ${name}`);
        const until = { answers: request.length };
        await context.load.flood({ ports: [port], connections: CONNECTIONS, request, until, status: 204 });
      }
      const [one, ...others] = targets;
      const figures: Figure[] = [];
      for (const many of others) {
        // A short turn would not come to all of so many queues.
        const whole = many.request.length > 1000;
        const rounds = await floodInTurns(context, [one as FloodTarget, many], { whole });
        figures.push(ratioFigure(rounds, `${engine}, ${many.name}`, [nameOf(FEW), many.name]));
      }
      return figures;
    }),
};
