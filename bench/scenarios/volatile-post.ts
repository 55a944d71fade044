import type { Scenario } from '../scenario.ts';
import { barePost, floodInTurns, post, ratioFigure } from '../throughput.ts';

/** The same posts with `persistent=false`. */
export const volatilePost: Scenario = {
  name: 'volatile-post',
  about: 'posts of 1 KiB with persistent=false, to the same bare server',
  target: { atLeast: 0.7, text: 'at least 0.7 of bare' },
  async run(context) {
    const { port } = await context.waypost();
    const rounds = await floodInTurns(context, [
      post('Waypost', [port], '/queues/bench?persistent=false'),
      await barePost(context),
    ]);
    return [ratioFigure(rounds, '', ['Waypost', 'bare Fastify'])];
  },
};
