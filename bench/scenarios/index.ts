/** The scenarios, in the order in which they run. A new one is a file beside this and a line here. */
import type { Scenario } from '../scenario.ts';
import { batchPost } from './batch-post.ts';
import { cascade } from './cascade.ts';
import { consumerPages } from './consumer-pages.ts';
import { consumers } from './consumers.ts';
import { deadSubscriber } from './dead-subscriber.ts';
import { durablePost } from './durable-post.ts';
import { durableReceive } from './durable-receive.ts';
import { eventStream } from './event-stream.ts';
import { forwarding } from './forwarding.ts';
import { idleClients } from './idle-clients.ts';
import { manyQueues } from './many-queues.ts';
import { manySubscribers } from './many-subscribers.ts';
import { memory } from './memory.ts';
import { oncePost } from './once-post.ts';
import { openTransactions } from './open-transactions.ts';
import { pollAcknowledge } from './poll-acknowledge.ts';
import { postgresPost } from './postgres-post.ts';
import { queueDepth } from './queue-depth.ts';
import { topicReading } from './topic-reading.ts';
import { transactionGrowth } from './transaction-growth.ts';
import { transactions } from './transactions.ts';
import { volatilePost } from './volatile-post.ts';
import { wakeUp } from './wake-up.ts';

export const scenarios: readonly Scenario[] = [
  durablePost,
  volatilePost,
  durableReceive,
  postgresPost,
  queueDepth,
  memory,
  idleClients,
  oncePost,
  pollAcknowledge,
  batchPost,
  topicReading,
  eventStream,
  wakeUp,
  manyQueues,
  consumers,
  cascade,
  consumerPages,
  forwarding,
  deadSubscriber,
  manySubscribers,
  transactions,
  transactionGrowth,
  openTransactions,
];
