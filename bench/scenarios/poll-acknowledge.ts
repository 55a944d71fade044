import { onEachEngine } from '../engines.ts';
import type { Steps } from '../load.ts';
import type { Scenario } from '../scenario.ts';
import { BODY_BYTES, floodInTurns, longestFlood, ratioFigure } from '../throughput.ts';

/** More than any machine takes in a second: no queue must run dry while it is measured. */
const MOST_A_SECOND = { polled: 18_000, received: 40_000 };

const steps: Steps = {
  cycle: [
    { method: 'POST', to: { path: '/queues/polled/poller' }, status: 200, messages: 0 },
    {
      method: 'POST',
      to: { rel: 'acknowledgement' },
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'acknowledge=true',
      status: 204,
      messages: 1,
    },
  ],
};

/** Messages of 1 KiB that are leased and then acknowledged, to those that are received for good: two requests to one. */
export const pollAcknowledge: Scenario = {
  name: 'poll-acknowledge',
  about: 'messages of 1 KiB that are polled and acknowledged, to messages that are received',
  target: { atLeast: 0.45, text: 'at least 0.45 of receive' },
  run(context) {
    const seconds = longestFlood(context);
    const fillings = Object.entries(MOST_A_SECOND).map(([queue, most]) => ({
      queue,
      messages: Math.ceil(seconds * most),
      bodyBytes: BODY_BYTES,
    }));
    return onEachEngine(context, fillings, async ({ port }, engine) => {
      const common = { ports: [port], status: 200 };
      // What was taken is forgotten a little later: in short turns each side would do much of that for the other.
      const rounds = await floodInTurns(
        context,
        [
          { ...common, name: 'poll and acknowledge', path: '', steps },
          { ...common, name: 'receive', path: '/queues/received/receiving' },
        ],
        { whole: true },
      );
      return [ratioFigure(rounds, engine, ['poll and acknowledge', 'receive'])];
    });
  },
};
