/** Histories: lists of actions as plain data, so that fast-check can shrink a failing one and print it. */
import fc from 'fast-check';
import type { QueueSettings, Verdict } from './queue-model.ts';
import type { TopicSettings } from './topic-model.ts';

export const CLIENTS = 3;
/** Two queues that share a dead-letter queue. */
export const QUEUES = ['orders', 'parcels', 'orders.dead'] as const;
export const DEAD_LETTERS = 'orders.dead';
export const TOPIC = 'news';

export type QueueName = (typeof QUEUES)[number];
export type Place = QueueName | typeof TOPIC;

/** What a poster may ask for, in seconds. */
export interface Wishes {
  readonly priority?: number;
  readonly delay?: number;
  readonly ttl?: number;
  readonly persistent?: boolean;
}

/** `pick` chooses among what there is at that moment, modulo its number. */
export type Action =
  | { readonly do: 'post'; readonly to: Place; readonly count: number; readonly wishes: Wishes }
  | {
      readonly do: 'put';
      readonly to: QueueName;
      readonly id: string;
      readonly content: number;
      readonly wishes: Wishes;
    }
  | { readonly do: 'issue link'; readonly client: number; readonly to: Place; readonly batch: boolean }
  | {
      readonly do: 'use link';
      readonly client: number;
      readonly pick: number;
      readonly count: number;
      readonly wishes: Wishes;
    }
  | { readonly do: 'look at link'; readonly client: number; readonly pick: number }
  | { readonly do: 'poll'; readonly client: number; readonly from: QueueName; readonly max: number }
  | { readonly do: 'receive'; readonly from: QueueName; readonly max: number }
  | { readonly do: 'peek'; readonly from: QueueName; readonly max: number }
  | { readonly do: 'settle'; readonly client: number; readonly pick: number; readonly verdict: Verdict }
  | { readonly do: 'look at message'; readonly pick: number }
  | { readonly do: 'delete message'; readonly pick: number }
  | { readonly do: 'purge'; readonly queue: QueueName }
  | { readonly do: 'redrive'; readonly max: number }
  | { readonly do: 'set queue'; readonly queue: QueueName; readonly settings: QueueSettings }
  | { readonly do: 'set topic'; readonly settings: TopicSettings }
  | { readonly do: 'take position'; readonly client: number }
  | { readonly do: 'next'; readonly client: number; readonly max: number }
  | { readonly do: 'first and last'; readonly client: number }
  | { readonly do: 'wait'; readonly milliseconds: number }
  | { readonly do: 'live through'; readonly milliseconds: number }
  | { readonly do: 'redeliver' }
  | { readonly do: 'prune' }
  | { readonly do: 'restart' };

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

const client = fc.nat(CLIENTS - 1);
const pick = fc.nat(40);
const max = fc.integer({ min: 1, max: 4 });
const count = fc.integer({ min: 1, max: 3 });
const queue = fc.constantFrom(...QUEUES);
// Most traffic meets in one queue and in the topic.
const place = fc.oneof(
  { weight: 5, arbitrary: fc.constant('orders' as const) },
  { weight: 1, arbitrary: queue },
  { weight: 3, arbitrary: fc.constant(TOPIC) },
);
const source = fc.oneof({ weight: 3, arbitrary: fc.constant('orders' as const) }, { weight: 2, arbitrary: queue });

const wishes: fc.Arbitrary<Wishes> = fc.record(
  {
    priority: fc.constantFrom(0, 4, 9),
    delay: fc.constantFrom(0, 0.0005, 1, 30),
    ttl: fc.constantFrom(0.5, 20, 90),
    persistent: fc.boolean(),
  },
  { requiredKeys: [] },
);
const noWishes = fc.constant<Wishes>({});
// Short lives that end while others lease, return and look would be rare among all the other wishes.
const shortLife = fc.record({ ttl: fc.constantFrom(0.5, 5) });
const someWishes = fc.oneof(
  { weight: 2, arbitrary: noWishes },
  { weight: 3, arbitrary: wishes },
  { weight: 1, arbitrary: shortLife },
);

const verdict: fc.Arbitrary<Verdict> = fc.oneof(
  fc.constant({ kind: 'acknowledge' as const }),
  fc.record({ kind: fc.constant('return' as const), delay: fc.constantFrom(0, 0, 0.25, 20) }),
  fc.record({ kind: fc.constant('extend' as const), by: fc.constantFrom(0.001, 10, 60) }),
);

const queueSettings: fc.Arbitrary<QueueSettings> = fc.record(
  {
    lease: fc.constantFrom(1, 10),
    'max-deliveries': fc.constantFrom(1, 2, 3),
    ttl: fc.constantFrom(5, 120),
    delay: fc.constantFrom(0, 2),
    retention: fc.constantFrom(0, 0.0005, 10, 60),
    'max-length': fc.constantFrom(1, 3, 6),
  },
  { requiredKeys: [] },
);
const topicSettings: fc.Arbitrary<TopicSettings> = fc.record(
  {
    ttl: fc.constantFrom(5, 120),
    retention: fc.constantFrom(0, 0.0005, 10, 3600),
    'max-length': fc.constantFrom(2, 5),
  },
  { requiredKeys: [] },
);

const action = <Name extends Action['do']>(
  name: Name,
  parts: {
    [Key in Exclude<keyof Extract<Action, { do: Name }>, 'do'>]: fc.Arbitrary<Extract<Action, { do: Name }>[Key]>;
  },
): fc.Arbitrary<Action> => fc.record({ do: fc.constant(name), ...parts }) as unknown as fc.Arbitrary<Action>;

const weighted = (weight: number, arbitrary: fc.Arbitrary<Action>) => ({ weight, arbitrary });

/** `restarts`: how often, against the 100 or so of all others. */
export function histories({ length, restarts }: { length: number; restarts: number }): fc.Arbitrary<Action[]> {
  const actions = fc.oneof(
    weighted(14, action('post', { to: place, count, wishes: someWishes })),
    weighted(7, action('put', { to: source, id: fc.constantFrom('a', 'b'), content: fc.nat(1), wishes: someWishes })),
    weighted(4, action('issue link', { client, to: place, batch: fc.boolean() })),
    weighted(7, action('use link', { client, pick, count, wishes: someWishes })),
    weighted(2, action('look at link', { client, pick })),
    weighted(13, action('poll', { client, from: source, max })),
    weighted(4, action('receive', { from: source, max })),
    weighted(2, action('peek', { from: source, max })),
    weighted(14, action('settle', { client, pick, verdict })),
    weighted(4, action('look at message', { pick })),
    weighted(2, action('delete message', { pick })),
    weighted(1, action('purge', { queue })),
    weighted(3, action('redrive', { max })),
    weighted(4, action('set queue', { queue: source, settings: queueSettings })),
    weighted(2, action('set topic', { settings: topicSettings })),
    weighted(2, action('take position', { client })),
    weighted(7, action('next', { client, max })),
    weighted(2, action('first and last', { client })),
    weighted(
      8,
      action('wait', { milliseconds: fc.constantFrom(1, 1 * SECOND, 10 * SECOND, 31 * SECOND, HOUR, 8 * DAY) }),
    ),
    weighted(4, action('live through', { milliseconds: fc.constantFrom(2 * HOUR, 25 * HOUR, 47 * HOUR, 8 * DAY) })),
    weighted(9, action('redeliver', {})),
    weighted(4, action('prune', {})),
    weighted(restarts, action('restart', {})),
  );
  return fc.array(actions, { maxLength: length, size: 'max' });
}
