/** The load generator, on a thread of its own so that it has a core to itself while the server has the other. */
import { Worker } from 'node:worker_threads';
import type { FloodOrder, FloodResult } from './load/flood.ts';
import type { FollowOrder } from './load/following.ts';
import type { LongPollOrder, LongPollResult } from './load/long-polls.ts';
import type { StreamOrder, StreamResult } from './load/streams.ts';
import type { Order, Reply } from './load/worker.ts';

export type { FloodOrder, FloodResult } from './load/flood.ts';
export type { Steps } from './load/following.ts';

export interface Load {
  flood(order: FloodOrder): Promise<FloodResult>;
  /** Like a flood, of clients whose next request follows from the links of the last answer. */
  follow(order: FollowOrder): Promise<FloodResult>;
  /** Readers of a topic's event stream, and posts to it. */
  streams(order: StreamOrder): Promise<StreamResult>;
  /** Opens clients that wait; `post` measures how soon they are woken. */
  longPolls(order: LongPollOrder): Promise<{ post(): Promise<LongPollResult>; close(): Promise<void> }>;
  close(): Promise<void>;
}

export function startLoad(): Load {
  const worker = new Worker(new URL('./load/worker.ts', import.meta.url));
  let last: Promise<unknown> = Promise.resolve();

  function ask<T>(order: Order): Promise<T> {
    const answer = last.then(
      () =>
        new Promise<T>((resolve, reject) => {
          const done = (reply: Reply): void => {
            worker.off('error', reject);
            if ('error' in reply) reject(new Error(reply.error));
            else resolve(reply.result as T);
          };
          worker.once('message', done).once('error', reject);
          worker.postMessage(order);
        }),
    );
    last = answer.catch(() => {});
    return answer;
  }

  return {
    flood: (order) => ask({ kind: 'flood', order }),
    follow: (order) => ask({ kind: 'follow', order }),
    streams: (order) => ask({ kind: 'streams', order }),
    async longPolls(order) {
      await ask({ kind: 'open-long-polls', order });
      return {
        post: () => ask({ kind: 'post-to-long-polls' }),
        close: () => ask({ kind: 'close-long-polls' }),
      };
    },
    async close() {
      await worker.terminate();
    },
  };
}
