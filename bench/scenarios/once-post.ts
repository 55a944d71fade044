import { onEachEngine } from '../engines.ts';
import type { Steps } from '../load.ts';
import type { Scenario } from '../scenario.ts';
import { BODY_BYTES, floodInTurns, post, ratioFigure } from '../throughput.ts';

/** A client obtains one link, and from then on posts to the link that came with the last answer. */
const steps: Steps = {
  begin: { method: 'POST', to: { path: '/queues/bench/post-once' }, status: 200, messages: 0 },
  cycle: [
    {
      method: 'POST',
      to: { rel: 'create-next' },
      headers: { 'Content-Type': 'application/octet-stream' },
      bodyBytes: BODY_BYTES,
      status: 200,
      messages: 1,
    },
  ],
};

/** Posts of 1 KiB that are stored once whatever the client repeats, to plain posts of the same. */
export const oncePost: Scenario = {
  name: 'once-post',
  about: 'posts of 1 KiB through create-next links, to plain posts of the same',
  target: { atLeast: 0.8, text: 'at least 0.8 of plain' },
  run: (context) =>
    onEachEngine(context, [], async ({ port }, engine) => {
      const plain = post('plain', [port], '/queues/bench');
      const rounds = await floodInTurns(context, [{ ...plain, name: 'once-only', steps }, plain]);
      return [ratioFigure(rounds, engine, ['once-only', 'plain'])];
    }),
};
