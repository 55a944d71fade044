import { onEachEngine } from '../engines.ts';
import { median, quantile } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';

const WAITERS = 1000;
const QUEUES = 100;

/** How soon one of many waiting clients has the message that was posted for it. */
export const wakeUp: Scenario = {
  name: 'wake-up',
  about: '1 000 clients waiting on 100 queues: the time from a post to the answer of the client it woke',
  run: (context) =>
    onEachEngine(context, [], async ({ port }, engine) => {
      const queues = Array.from({ length: QUEUES }, (_, i) => `waited-${i}`);
      context.note('warming up');
      // Makes the queues; what is posted is received again, so that all clients wait.
      const common = { ports: [port], connections: 8, until: { answers: QUEUES * 10 } };
      const posts = queues.map((queue) => ({ method: 'POST', path: `/queues/${queue}` }));
      await context.load.flood({ ...common, request: posts, status: 204 });
      const receives = queues.map((queue) => ({ method: 'POST', path: `/queues/${queue}/receiving` }));
      await context.load.flood({ ...common, request: receives, status: 200 });
      const polls = await context.load.longPolls({ port, clients: WAITERS, queues, posts: context.quick ? 300 : 2000 });
      try {
        context.note('posting to waiting clients');
        const { woken, posted } = await polls.post();
        const times = [...woken];
        const detail = `p99 ${quantile(times, 0.99).toFixed(1)} ms; the post itself was answered after ${median([...posted]).toFixed(2)} ms; ${times.length} posts, one after another`;
        return [{ label: `${engine}, median`, value: median(times), unit: 'ms', detail }];
      } finally {
        await polls.close();
      }
    }),
};
