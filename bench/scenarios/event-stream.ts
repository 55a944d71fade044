import { request } from '../../testing/http.ts';
import { onEachEngine } from '../engines.ts';
import { median, quantile } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';

const READERS = 100;

/** Messages of a topic pushed to many readers as server-sent events. */
export const eventStream: Scenario = {
  name: 'event-stream',
  about: 'messages of 1 KiB to 100 readers of an event stream: the time until the last has one, and events in a second',
  run: (context) =>
    onEachEngine(context, [], async ({ port, url }, engine) => {
      await request(`${url}/topics/bench`, { method: 'PUT' });
      const topic = '/topics/bench';
      const order = { port, topic, readers: READERS };
      context.note('warming up');
      await context.load.streams({ ...order, single: 50, flood: { posts: 300, connections: 8 } });
      context.note('posting to the readers');
      const posts = context.quick ? 500 : 3000;
      const measured = { single: context.quick ? 100 : 500, flood: { posts, connections: 8 } };
      const { times, rate, posts: posted } = await context.load.streams({ ...order, ...measured });
      const all = [...times];
      return [
        {
          label: `${engine}, post to the last reader, median`,
          value: median(all),
          unit: 'ms',
          detail: `p99 ${quantile(all, 0.99).toFixed(1)} ms; ${all.length} posts, one after another`,
        },
        {
          label: `${engine}, events`,
          value: rate,
          unit: '/s',
          detail: `over ${READERS} readers, from ${Math.round(posted).toLocaleString('en')} posts in a second`,
        },
      ];
    }),
};
