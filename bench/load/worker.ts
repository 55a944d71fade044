/** The load generator's own thread: it takes one order at a time. */
import { parentPort } from 'node:worker_threads';
import { type FloodOrder, flood } from './flood.ts';
import { type FollowOrder, follow as followLinks } from './following.ts';
import { type LongPollOrder, openLongPolls } from './long-polls.ts';
import { type StreamOrder, streams } from './streams.ts';

export type Order =
  | { readonly kind: 'flood'; readonly order: FloodOrder }
  | { readonly kind: 'follow'; readonly order: FollowOrder }
  | { readonly kind: 'streams'; readonly order: StreamOrder }
  | { readonly kind: 'open-long-polls'; readonly order: LongPollOrder }
  | { readonly kind: 'post-to-long-polls' }
  | { readonly kind: 'close-long-polls' };

export type Reply = { readonly result: unknown } | { readonly error: string };

let longPolls: Awaited<ReturnType<typeof openLongPolls>> | undefined;

async function follow(order: Order): Promise<unknown> {
  switch (order.kind) {
    case 'flood':
      return flood(order.order);
    case 'follow':
      return followLinks(order.order);
    case 'streams':
      return streams(order.order);
    case 'open-long-polls':
      longPolls = await openLongPolls(order.order);
      return undefined;
    case 'post-to-long-polls':
      return longPolls?.post();
    case 'close-long-polls':
      longPolls?.close();
      longPolls = undefined;
      return undefined;
  }
}

parentPort?.on('message', async (order: Order) => {
  try {
    parentPort?.postMessage({ result: await follow(order) } satisfies Reply);
  } catch (error) {
    parentPort?.postMessage({ error: (error as Error).message } satisfies Reply);
  }
});
