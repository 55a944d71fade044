import { temporaryFolder } from '../../testing/folders.ts';
import { fillStore } from '../filled-store.ts';
import type { Scenario } from '../scenario.ts';
import { BODY_BYTES, barePost, floodInTurns, longestFlood, ratioFigure } from '../throughput.ts';

/** More than any machine receives in a second: the queue must not run dry while it is measured. */
const MOST_RECEIVES_A_SECOND = 40_000;

/** Receives of 1 KiB, one message each, taken off the queue on disk before they are answered. */
export const durableReceive: Scenario = {
  name: 'durable-receive',
  about: 'receives of 1 KiB, one message each, to the posts of the bare server',
  target: { atLeast: 0.45, text: 'at least 0.45 of bare' },
  async run(context) {
    const data = temporaryFolder();
    const messages = Math.ceil(longestFlood(context) * MOST_RECEIVES_A_SECOND);
    await fillStore({ data }, [{ queue: 'bench', messages, bodyBytes: BODY_BYTES }], context.note);
    const { port } = await context.waypost({ data });
    const rounds = await floodInTurns(context, [
      { name: 'Waypost', ports: [port], path: '/queues/bench/receiving', status: 200 },
      await barePost(context),
    ]);
    return [ratioFigure(rounds, '', ['Waypost', 'bare Fastify'])];
  },
};
