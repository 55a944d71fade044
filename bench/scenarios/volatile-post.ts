import type { Scenario } from '../scenario.ts';
import { barePost, type FloodTarget, floodInTurns, post, ratioFigure } from '../throughput.ts';

/** The same posts with `persistent=false`. */
export const volatilePost: Scenario = {
  name: 'volatile-post',
  about: 'posts of 1 KiB with persistent=false, to the same bare server',
  target: { atLeast: 0.7, text: 'at least 0.7 of bare' },
  async run(context) {
    const { port, url } = await context.waypost();
    const waypost: FloodTarget = {
      ...post('Waypost', [port], '/queues/bench?persistent=false'),
      // Volatile messages have a bounded room in memory; what does not fit goes to disk and would be measured here.
      async tidyUp() {
        const { ok, status } = await fetch(`${url}/queues/bench/purge`, { method: 'POST' });
        if (!ok) throw new Error(`the queue could not be emptied: ${status}`);
      },
    };
    const rounds = await floodInTurns(context, [waypost, await barePost(context)]);
    return [ratioFigure(rounds, '', ['Waypost', 'bare Fastify'])];
  },
};
