/** Plays a history on the service and on the models and compares them at every step. */
import assert from 'node:assert/strict';
import type { Tx } from '../../src/store/store.ts';
import { type Action, QUEUES, TOPIC } from './history.ts';
import * as posting from './posting-steps.ts';
import * as queues from './queue-steps.ts';
import type { Service } from './service.ts';
import * as topics from './topic-steps.ts';
import { createWorld, type World } from './world.ts';

const PLACES = [...QUEUES, TOPIC] as const;
/** How many of the newest messages are looked at when time has passed. */
const LOOKS = 8;

type Steps = {
  readonly [Name in Action['do']]: (world: World, action: Extract<Action, { do: Name }>) => Promise<void>;
};

const steps: Steps = {
  post: posting.post,
  put: posting.put,
  'issue link': posting.issueLink,
  'use link': posting.useLink,
  'look at link': posting.lookAtLink,
  poll: queues.poll,
  receive: queues.receive,
  peek: queues.peek,
  settle: queues.settle,
  'look at message': queues.lookAtMessage,
  'delete message': queues.deleteMessage,
  purge: queues.purge,
  redrive: queues.redrive,
  'set queue': queues.changeQueue,
  'set topic': topics.changeTopic,
  'take position': topics.takePosition,
  next: topics.next,
  'first and last': topics.firstAndLast,
  /** What is over by the clock, and noted by nobody yet, is where the two sides could differ: looked at each time. */
  async wait(world, { milliseconds }) {
    world.service.clock.time += milliseconds;
    for (let pick = 0; pick < Math.min(LOOKS, world.known.length); pick++)
      await play(world, { do: 'look at message', pick });
    await compareQueueCounts(world);
  },
  /** A long time, in which the duties do their work as they always do. */
  async 'live through'(world, { milliseconds }) {
    for (const part of [0.5, 0.5]) {
      await play(world, { do: 'wait', milliseconds: milliseconds * part });
      await play(world, { do: 'redeliver' });
      await play(world, { do: 'prune' });
    }
  },
  async redeliver(world) {
    await world.service.redeliver();
    // One queue after the other, the dead-letter queue last: what dies now is not yet looked at there.
    for (const name of QUEUES) world.queues[name].redeliver(world.queues['orders.dead']);
    world.topic.redeliver();
    await compareCounts(world);
  },
  async prune(world) {
    await world.service.prune();
    for (const name of QUEUES) world.queues[name].prune();
    world.topic.prune();
    await compareKept(world);
  },
  async restart({ service, queues, topic }) {
    await service.restart();
    if (service.keepsVolatile) return;
    for (const name of QUEUES) queues[name].loseVolatile();
    topic.loseVolatile();
  },
};

async function compareQueueCounts(world: World): Promise<void> {
  const { destinations } = world.service.messaging;
  for (const name of QUEUES) {
    assert.deepEqual(await destinations.counts(await world.destinationOf(name)), world.queues[name].counts(), name);
  }
}

async function compareCounts(world: World): Promise<void> {
  const { destinations } = world.service.messaging;
  await compareQueueCounts(world);
  assert.deepEqual(await destinations.counts(await world.destinationOf(TOPIC)), world.topic.counts());
}

/** Nothing is forgotten too early, and nothing is kept for ever. */
async function compareKept(world: World): Promise<void> {
  for (const place of PLACES) {
    const { id } = await world.destinationOf(place);
    const model = place === TOPIC ? world.topic : world.queues[place];
    const [messages, ids] = [await rowsOf(world, 'messages', [id]), await rowsOf(world, 'ids', [id])];
    assert.deepEqual({ messages, ids }, model.kept(), `kept in ${place}`);
  }
}

/** How many rows the store has of some destinations. */
function rowsOf({ service: { store } }: World, what: keyof typeof tables, destinations: number[]): Promise<number> {
  return store.read(async (tx) => {
    let rows = 0;
    for (const table of tables[what](tx)) {
      const text = `SELECT count(*) AS count FROM ${table} WHERE dest ${tx.dialect.inList('$1')}`;
      rows += (await tx.get<{ count: number }>(text, [tx.dialect.list(destinations)]))?.count ?? 0;
    }
    return rows;
  });
}

const tables = {
  messages: ({ dialect }: Tx) => dialect.places.map(({ message }) => message),
  deliveries: ({ dialect }: Tx) => dialect.places.map(({ delivery }) => delivery),
  ids: () => ['message_name'],
};

const play = (world: World, action: Action): Promise<void> =>
  (steps[action.do] as (world: World, action: Action) => Promise<void>)(world, action);

let played = 0;

export async function playHistory(service: Service, actions: readonly Action[]): Promise<void> {
  const world = await createWorld(service, `h${++played}`);
  try {
    for (const [index, action] of actions.entries()) {
      try {
        await play(world, action);
      } catch (error) {
        (error as Error).message = `step ${index + 1}, ${JSON.stringify(action)}: ${(error as Error).message}`;
        throw error;
      }
    }
    await drain(world);
  } finally {
    await removeAll(world);
  }
}

/** In the end everything that is owed comes out, in order, and nothing else. */
async function drain(world: World): Promise<void> {
  const all = 100;
  await play(world, { do: 'redeliver' });
  for (const from of QUEUES) await play(world, { do: 'receive', from, max: all });
  for (const [client] of world.clients.entries()) await play(world, { do: 'next', client, max: all });
}

/** Leaves the store as it was found; whatever cannot be swept away has been lost sight of. */
async function removeAll(world: World): Promise<void> {
  const { destinations } = world.service.messaging;
  const removed: number[] = [];
  for (const place of PLACES) {
    const destination = await world.destinationOf(place);
    removed.push(destination.id);
    await destinations.remove(destination, true, () => {});
  }
  await world.service.sweep();
  for (const what of ['messages', 'deliveries', 'ids'] as const) {
    assert.equal(await rowsOf(world, what, removed), 0, `${what} left behind`);
  }
}
