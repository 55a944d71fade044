import type { Scenario } from '../scenario.ts';
import { barePost, floodInTurns, post, ratioFigure } from '../throughput.ts';

/** Posts of 1 KiB that are on disk before they are answered. */
export const durablePost: Scenario = {
  name: 'durable-post',
  about: 'posts of 1 KiB, on disk before they are answered, to a bare Fastify server that reads the same body',
  target: { atLeast: 0.5, text: 'at least 0.5 of bare' },
  async run(context) {
    const { port } = await context.waypost();
    const rounds = await floodInTurns(context, [post('Waypost', [port], '/queues/bench'), await barePost(context)]);
    return [ratioFigure(rounds, '', ['Waypost', 'bare Fastify'])];
  },
};
