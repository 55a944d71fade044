/** Receiving, verdicts and looking on both sides. */
import assert from 'node:assert/strict';
import type { Destination } from '../../src/messaging/destination.ts';
import { messageState } from '../../src/messaging/message.ts';
import type { ClaimedMessage, StoredMessage } from '../../src/store/store.ts';
import { type Action, DEAD_LETTERS, QUEUES, type QueueName, TOPIC } from './history.ts';
import type { Letter, QueueModel } from './queue-model.ts';
import type { Issue } from './topic-model.ts';
import { bind, choose, expected, outcomeOf, patient, setQueue, told, type World } from './world.ts';

type Step<Name extends Action['do']> = (world: World, action: Extract<Action, { do: Name }>) => Promise<void>;

function compare(world: World, actual: readonly StoredMessage[], letters: readonly Letter[]): void {
  assert.deepEqual(actual.map(told), letters.map(expected));
  for (const [index, letter] of letters.entries()) bind(world, letter, (actual[index] as StoredMessage).id);
}

function compareTaken(world: World, actual: readonly ClaimedMessage[], letters: readonly Letter[]): void {
  compare(world, actual, letters);
  assert.deepEqual(
    actual.map(({ deliveries }) => deliveries),
    letters.map(({ deliveries }) => deliveries),
    'Delivery-Count',
  );
}

export const poll: Step<'poll'> = async (world, { client, from, max }) => {
  const queue = await world.destinationOf(from);
  const taken = await world.service.messaging.receiving.poll(queue, { max, wait: 0 }, patient);
  const letters = world.queues[from].poll(max);
  compareTaken(world, taken, letters);
  for (const [index, letter] of letters.entries()) {
    const { token } = taken[index] as ClaimedMessage;
    world.clients[client]?.deliveries.push({ letter, delivery: letter.delivery, token });
  }
};

export const receive: Step<'receive'> = async (world, { from, max }) => {
  const queue = await world.destinationOf(from);
  const taken = await world.service.messaging.receiving.receive(queue, { max, wait: 0 }, patient);
  compareTaken(world, taken, world.queues[from].receive(max));
};

export const peek: Step<'peek'> = async (world, { from, max }) => {
  const queue = await world.destinationOf(from);
  const found = await world.service.messaging.receiving.peek(queue, { max, wait: 0 }, patient);
  const letters = world.queues[from].peek(max);
  compare(
    world,
    found.map(({ message }) => message),
    letters,
  );
};

export const settle: Step<'settle'> = async (world, { client, pick, verdict }) => {
  const all = world.clients.flatMap(({ deliveries }) => deliveries);
  const held = choose(world.clients[client]?.deliveries ?? [], all, pick);
  if (held === undefined) return;
  const { letter, delivery, token } = held;
  const queue = await world.destinationOf(placeOf(world, letter.queue));
  const { receiving, publicId } = world.service.messaging;
  const id = publicId({ id: letter.id as number, name: null });
  const outcome = await outcomeOf(receiving.settle(queue, id, token, verdict));
  const problems = {
    done: undefined,
    overtaken: 'overtaken',
    acknowledged: 'already-acknowledged',
    gone: 'message-gone',
  } as const;
  assert.equal(outcome, problems[letter.queue.settle(letter, delivery, verdict)]);
};

function placeOf({ queues }: World, queue: QueueModel): QueueName {
  return QUEUES.find((name) => queues[name] === queue) ?? assert.fail('a queue of another world');
}

/** What the address of a known message leads to now: under a chosen id, another message may have taken its place. */
async function addressed(world: World, pick: number) {
  const { known, service } = world;
  const message: Letter | Issue | undefined = known[known.length - 1 - (pick % known.length)];
  if (message?.id === undefined) return undefined;
  const name = 'queue' in message ? (message.name ?? null) : null;
  const publicId = service.messaging.publicId({ id: message.id, name });
  const target = 'queue' in message && name !== null ? message.queue.named(name) : message;
  const destination = await world.destinationOf('queue' in message ? placeOf(world, message.queue) : TOPIC);
  return { destination, publicId, target };
}

function stateOf(target: Letter | Issue | undefined): string {
  if (target === undefined) return 'unknown';
  return 'queue' in target ? target.queue.stateOf(target) : target.topic.stateOf(target);
}

async function shownState({ service: { messaging } }: World, destination: Destination, id: string): Promise<string> {
  const found = await outcomeOf(messaging.read(destination, id));
  if (typeof found === 'object') return messageState(found, messaging.now());
  return { 'message-gone': 'gone', 'unknown-message': 'unknown' }[found] ?? found;
}

export const lookAtMessage: Step<'look at message'> = async (world, { pick }) => {
  const found = await addressed(world, pick);
  if (found === undefined) return;
  assert.equal(await shownState(world, found.destination, found.publicId), stateOf(found.target));
};

export const deleteMessage: Step<'delete message'> = async (world, { pick }) => {
  const found = await addressed(world, pick);
  if (found === undefined || found.destination.kind === 'topic') return;
  const { destination, publicId, target } = found;
  const outcome = await outcomeOf(world.service.messaging.remove(destination, publicId, () => {}));
  if (target === undefined) assert.equal(outcome, 'unknown-message');
  else assert.equal(outcome, (target as Letter).queue.remove(target as Letter) ? undefined : 'message-gone');
};

export const purge: Step<'purge'> = async (world, { queue }) => {
  const purged = await world.service.messaging.clearing.purge(await world.destinationOf(queue));
  assert.equal(purged, world.queues[queue].purge());
};

export const redrive: Step<'redrive'> = async (world, { max }) => {
  const { moved } = await world.service.messaging.clearing.redrive(await world.destinationOf(DEAD_LETTERS), max);
  assert.equal(moved, world.queues[DEAD_LETTERS].redrive(max));
};

export const changeQueue: Step<'set queue'> = (world, { queue, settings }) => setQueue(world, queue, settings);
