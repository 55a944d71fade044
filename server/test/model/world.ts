/** One history's world: the models beside the service, what its clients hold, and how the two sides are compared. */
import assert from 'node:assert/strict';
import type { Destination } from '../../src/messaging/destination.ts';
import { DEAD_LETTER_ORIGIN } from '../../src/messaging/message.ts';
import type { Draft as PostedDraft } from '../../src/messaging/usecases/posting.ts';
import type { Client } from '../../src/messaging/usecases/waiting.ts';
import { Problem } from '../../src/problems.ts';
import type { StoredMessage } from '../../src/store/store.ts';
import { CLIENTS, DEAD_LETTERS, type Place, type QueueName, TOPIC, type Wishes } from './history.ts';
import type { Draft } from './letter.ts';
import { createLinkModel, type OnceLink } from './link-model.ts';
import { createQueueModel, type Letter, type QueueModel } from './queue-model.ts';
import { LINK_LIFETIME, REMEMBER_IDS, type Service } from './service.ts';
import { createTopicModel, type Issue, type TopicModel } from './topic-model.ts';

export interface HeldDelivery {
  readonly letter: Letter;
  /** By the model's count. */
  readonly delivery: number;
  readonly token: number;
}

export interface HeldLink {
  readonly to: Place;
  readonly batch: boolean;
  readonly token: string;
  readonly link: OnceLink;
}

/** What a client remembers of the answers it got. */
export interface ModelClient {
  readonly deliveries: HeldDelivery[];
  readonly links: HeldLink[];
  /** Where it reads the topic: by the model's count. */
  position: number;
}

export interface World {
  readonly service: Service;
  readonly queues: Readonly<Record<QueueName, QueueModel>>;
  readonly topic: TopicModel;
  readonly links: ReturnType<typeof createLinkModel>;
  readonly clients: readonly ModelClient[];
  /** Messages whose id a client knows. */
  readonly known: (Letter | Issue)[];
  /** The service's word for each position. */
  readonly words: Map<number, string>;
  nameOf(place: Place): string;
  destinationOf(place: Place): Promise<Destination>;
  draft(wishes: Wishes, body?: string): Draft;
}

export const patient: Client = { gone: false, onGone: () => () => {}, unwatched: false, onUnwatched: () => () => {} };

export async function createWorld(service: Service, prefix: string): Promise<World> {
  const { clock } = service;
  const now = (): number => clock.time;
  const rules = { now, rememberIds: REMEMBER_IDS };
  const nameOf = (place: Place): string => `${prefix}-${place}`;
  let posted = 0;
  const queue = (name: QueueName): QueueModel => createQueueModel(nameOf(name), rules, name === DEAD_LETTERS);
  const world: World = {
    service,
    queues: { orders: queue('orders'), parcels: queue('parcels'), 'orders.dead': queue('orders.dead') },
    topic: createTopicModel(nameOf(TOPIC), now),
    links: createLinkModel({ now, lifetime: LINK_LIFETIME }),
    clients: Array.from({ length: CLIENTS }, () => ({ deliveries: [], links: [], position: 0 })),
    known: [],
    words: new Map(),
    nameOf,
    destinationOf: (place) => service.messaging.destinations.get(kindOf(place), nameOf(place)),
    draft({ priority, delay, ttl, persistent }, body = `m${++posted}`) {
      const contentType = posted % 3 === 0 ? null : `text/plain; n=${body.length}`;
      return { body, contentType, priority, delay, ttl, volatile: persistent === false };
    },
  };
  // At first messages die young and are soon forgotten, so that many histories come to that.
  await setQueue(world, 'orders', { lease: 10, 'max-deliveries': 2, retention: 20 });
  await setQueue(world, 'parcels', { lease: 1, 'max-deliveries': 1 });
  await setQueue(world, DEAD_LETTERS, {});
  await service.messaging.destinations.ensure('topic', nameOf(TOPIC));
  await wordFor(world, 0, async () => service.messaging.reading.position(await world.destinationOf(TOPIC)));
  return world;
}

export const kindOf = (place: Place): 'queue' | 'topic' => (place === TOPIC ? 'topic' : 'queue');

export async function setQueue({ service, queues, nameOf }: World, name: QueueName, settings: object): Promise<void> {
  queues[name].change(settings);
  // The second queue's dead letters go where the first one's do.
  const deadLetter = name === 'parcels' ? { 'dead-letter': nameOf(DEAD_LETTERS) } : {};
  await service.messaging.destinations.put('queue', nameOf(name), { ...settings, ...deadLetter }, () => {});
}

/** A17: positions are stable, so the service has one word for each. */
export async function wordFor({ words }: World, position: number, ask: () => Promise<string>): Promise<string> {
  const word = await ask();
  const known = words.get(position);
  if (known === undefined) words.set(position, word);
  else assert.equal(word, known, `the word for position ${position}`);
  return word;
}

/** Own things first, the newest before older ones; some picks look at what other clients hold. */
export function choose<T>(own: readonly T[], all: readonly T[], pick: number): T | undefined {
  const from = pick < 30 && own.length > 0 ? own : all;
  return from[from.length - 1 - (pick % from.length)];
}

/** The value, or the code of the problem that was thrown. */
export async function outcomeOf<T>(work: Promise<T>): Promise<T | string> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return error.code;
    throw error;
  }
}

export const toPost = ({ body, contentType }: Draft): PostedDraft => ({
  contentType,
  fields: [['X-Body', body]],
  body: Buffer.from(body),
});

/** A message as both sides can tell it. */
interface Told {
  readonly body: string;
  readonly contentType: string | null;
  readonly fields: string;
  readonly origin: string | undefined;
}

export function told({ body, contentType, headers }: StoredMessage): Told {
  const fields = JSON.parse(headers) as [string, string][];
  return {
    body: body.toString(),
    contentType,
    fields: JSON.stringify(fields.filter(([name]) => !name.startsWith(':'))),
    origin: fields.find(([name]) => name === DEAD_LETTER_ORIGIN)?.[1],
  };
}

export function expected({ draft: { body, contentType }, ...rest }: Letter | Issue): Told {
  const origin = 'origin' in rest ? rest.origin?.name : undefined;
  return { body, contentType, fields: JSON.stringify([['X-Body', body]]), origin };
}

/** One message has one id, for ever, and no other has it. */
export function bind({ known }: World, message: Letter | Issue, id: number): void {
  if (message.id === undefined) {
    const other = known.find((each) => each.id === id);
    assert.equal(other, undefined, `message ${id} was ${other?.draft.body} before and is now ${message.draft.body}`);
    message.id = id;
    known.push(message);
  }
  assert.equal(id, message.id, `the id of ${message.draft.body}`);
}
