/** Reading a topic on both sides. */
import assert from 'node:assert/strict';
import type { StoredMessage } from '../../src/store/store.ts';
import { type Action, TOPIC } from './history.ts';
import type { Issue } from './topic-model.ts';
import { bind, expected, patient, told, type World, wordFor } from './world.ts';

type Step<Name extends Action['do']> = (world: World, action: Extract<Action, { do: Name }>) => Promise<void>;

async function compare(world: World, actual: readonly StoredMessage[], issues: readonly Issue[]): Promise<void> {
  assert.deepEqual(actual.map(told), issues.map(expected));
  const topic = await world.destinationOf(TOPIC);
  for (const [index, issue] of issues.entries()) {
    const message = actual[index] as StoredMessage;
    bind(world, issue, message.id);
    await wordFor(world, issue.position ?? 0, async () => world.service.messaging.reading.positionOf(topic, message));
  }
}

export const takePosition: Step<'take position'> = async (world, { client }) => {
  const topic = await world.destinationOf(TOPIC);
  const position = world.topic.position();
  await wordFor(world, position, () => world.service.messaging.reading.position(topic));
  const reader = world.clients[client];
  if (reader !== undefined) reader.position = position;
};

export const next: Step<'next'> = async (world, { client, max }) => {
  const reader = world.clients[client];
  if (reader === undefined) return;
  const topic = await world.destinationOf(TOPIC);
  const word = world.words.get(reader.position) ?? assert.fail('a position without a word');
  const { messages, gap } = await world.service.messaging.reading.after(topic, word, { max, wait: 0 }, patient);
  const expectation = world.topic.next(reader.position, max);
  await compare(world, messages, expectation.found);
  assert.equal(gap, expectation.gap, 'gap');
  reader.position = expectation.found.at(-1)?.position ?? reader.position;
};

export const firstAndLast: Step<'first and last'> = async (world, { client }) => {
  const { oldest, newest } = world.service.messaging.reading;
  const topic = await world.destinationOf(TOPIC);
  const [first, last] = [world.topic.first(), world.topic.last()];
  const found = await Promise.all([oldest(topic), newest(topic)]);
  await compare(
    world,
    found.filter((each) => each !== undefined),
    [first, last].filter((each) => each !== undefined),
  );
  const reader = world.clients[client];
  if (reader !== undefined && first?.position !== undefined) reader.position = first.position;
};

export const changeTopic: Step<'set topic'> = async ({ service, nameOf, topic }, { settings }) => {
  topic.change(settings);
  await service.messaging.destinations.put('topic', nameOf(TOPIC), settings, () => {});
};
