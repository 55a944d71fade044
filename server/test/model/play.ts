/** Plays a history on the service and on the models and compares them at every step. */
import assert from 'node:assert/strict';
import { type Action, QUEUES, TOPIC } from './history.ts';
import * as posting from './posting-steps.ts';
import * as queues from './queue-steps.ts';
import type { Service } from './service.ts';
import * as topics from './topic-steps.ts';
import { createWorld, type World } from './world.ts';

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
  async wait({ service: { clock } }, { milliseconds }) {
    clock.time += milliseconds;
  },
  async redeliver(world) {
    await world.service.redeliver();
    // One queue after the other, the dead-letter queue last: what dies now is not yet looked at there.
    for (const name of QUEUES) world.queues[name].redeliver(world.queues['orders.dead']);
    world.topic.redeliver();
    await compareCounts(world);
  },
  async prune({ service, queues, topic }) {
    await service.prune();
    for (const name of QUEUES) queues[name].prune();
    topic.prune();
  },
  async restart({ service, queues, topic }) {
    await service.restart();
    if (service.keepsVolatile) return;
    for (const name of QUEUES) queues[name].loseVolatile();
    topic.loseVolatile();
  },
};

async function compareCounts(world: World): Promise<void> {
  const { destinations } = world.service.messaging;
  for (const name of QUEUES) {
    assert.deepEqual(await destinations.counts(await world.destinationOf(name)), world.queues[name].counts(), name);
  }
  assert.deepEqual(await destinations.counts(await world.destinationOf(TOPIC)), world.topic.counts());
}

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
  const { messaging, store } = world.service;
  const ids: number[] = [];
  for (const place of [...QUEUES, TOPIC] as const) {
    const destination = await world.destinationOf(place);
    ids.push(destination.id);
    await messaging.destinations.remove(destination, true, () => {});
  }
  await world.service.sweep();
  await store.read(async (tx) => {
    const tables = ['message_name', ...tx.dialect.places.flatMap(({ message, delivery }) => [message, delivery])];
    for (const table of tables) {
      const text = `SELECT count(*) AS count FROM ${table} WHERE dest ${tx.dialect.inList('$1')}`;
      const left = await tx.get<{ count: number }>(text, [tx.dialect.list(ids)]);
      assert.equal(left?.count, 0, `left in ${table}`);
    }
  });
}
