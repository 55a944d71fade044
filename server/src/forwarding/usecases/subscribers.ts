/** Use cases of subscribers: register, look, enable, disable, try now, remove (A19). */
import type { Outbound } from '../../http/outbound/outbound.ts';
import type { Page } from '../../http/paging.ts';
import { newToken, type Sealer } from '../../ids.ts';
import type { Destination } from '../../messaging/destination.ts';
import { lockDestination } from '../../messaging/queries/destinations.ts';
import { lastPosition } from '../../messaging/queries/topics.ts';
import type { Membership } from '../../nodes/membership.ts';
import { Problem } from '../../problems.ts';
import type { Store } from '../../store/store.ts';
import type { Attempt } from '../attempts.ts';
import {
  changeSecret,
  configuredSubscribers,
  countSubscribers,
  findByTarget,
  findSubscriber,
  insertSubscriber,
  listSubscribers,
  markActive,
  markDisabled,
  markDueNow,
  markRemoved,
  readAttempts,
} from '../queries/subscribers.ts';
import { DISABLED, RETRYING, type Registration, type Subscriber } from '../subscriber.ts';
import type { Engine } from './engine.ts';

export interface Subscribers {
  /** The same target again gives the subscriber that is there. */
  register(destination: Destination, wish: Registration): Promise<{ subscriber: Subscriber; created: boolean }>;
  /** Registers what the configuration names, and removes what an earlier one named. */
  configure(destination: Destination, wish: Registration): Promise<void>;
  list(destination: Destination, page: Page): Promise<Subscriber[]>;
  /** Throws 404 when there is none. */
  get(destination: Destination, publicId: string): Promise<Subscriber>;
  attempts(subscriber: Subscriber): Promise<readonly Attempt[]>;
  enable(destination: Destination, publicId: string, skip: boolean): Promise<Subscriber>;
  disable(destination: Destination, publicId: string): Promise<Subscriber>;
  tryNow(destination: Destination, publicId: string): Promise<Subscriber>;
  remove(destination: Destination, publicId: string): Promise<void>;
  publicId(subscriber: Pick<Subscriber, 'id'>): string;
}

export interface SubscribersParts {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly outbound: Outbound;
  readonly node: Pick<Membership, 'id' | 'isAlive'>;
  readonly engine: Engine;
  readonly urlOf: (hrefOrPath: string) => string;
  /** Most subscribers of one destination. */
  readonly most: number;
}

export function createSubscribers(parts: SubscribersParts): Subscribers {
  const { store, sealer, outbound, node, engine, urlOf, most } = parts;
  const publicId = ({ id }: Pick<Subscriber, 'id'>): string => sealer.seal(id);

  async function find(destination: Destination, word: string): Promise<Subscriber> {
    const id = sealer.open(word);
    const found = id === undefined ? undefined : await store.read((tx) => findSubscriber(tx, destination.id, id));
    if (found !== undefined) return found;
    throw new Problem(
      'unknown-subscriber',
      `there is no such subscriber of the ${destination.kind} ${destination.name}`,
    );
  }

  /** Inserts it unless it is there; the destination's row is held, so that the limit holds and the topic stays. */
  async function insert(destination: Destination, wish: Registration, configured: boolean) {
    const id = store.nextId();
    const token = newToken();
    const owner = node.isAlive ? node.id : null;
    const created = store.now();
    const { kind, name } = destination;
    return store.transaction(async (tx) => {
      const present = await lockDestination(tx, kind, name);
      if (present === undefined) throw new Problem('unknown-destination', `there is no ${kind} named ${name}`);
      const known = await findByTarget(tx, present.id, wish);
      if (known !== undefined) {
        if (wish.secret !== null && wish.secret !== known.secret) await changeSecret(tx, known.id, wish.secret);
        return { id: known.id, destination: present, created: false };
      }
      if ((await countSubscribers(tx, present.id)) >= most) {
        throw new Problem('too-many-subscribers', `the ${kind} ${name} has ${most} subscribers, the most there can be`);
      }
      const position = kind === 'topic' ? ((await lastPosition(tx, present.id)) ?? 0) : 0;
      const fresh = { ...wish, id, destination: present.id, kind, created, token, position, owner, configured };
      await insertSubscriber(tx, fresh);
      return { id, destination: present, created: true };
    });
  }

  async function register(destination: Destination, wish: Registration, configured = false) {
    const outcome = await insert(destination, wish, configured);
    const subscriber = await find(outcome.destination, publicId(outcome));
    if (outcome.created && node.isAlive) await engine.adopt(subscriber);
    else if (!outcome.created) await engine.notice();
    return { subscriber, created: outcome.created };
  }

  /** Tells the node that serves it, which may be another one. */
  async function tell({ id }: Destination): Promise<void> {
    store.announce({ changed: [id] });
    await engine.notice();
  }

  async function enable(destination: Destination, word: string, skip: boolean): Promise<Subscriber> {
    const { id } = await find(destination, word);
    await store.transaction((tx) => markActive(tx, id, skip, node.id));
    await tell(destination);
    return find(destination, word);
  }

  async function remove(destination: Destination, word: string): Promise<void> {
    const { id } = await find(destination, word);
    await store.transaction((tx) => markRemoved(tx, id));
    await tell(destination);
  }

  return {
    publicId,
    register: async (destination, wish) => {
      const refused = await outbound.check(urlOf(wish.href));
      if (refused !== undefined) throw refused;
      return register(destination, wish);
    },
    async configure(destination, wish) {
      const { subscriber } = await register(destination, wish, true);
      if (subscriber.state === DISABLED) await enable(destination, publicId(subscriber), false);
      const all = await store.read((tx) => configuredSubscribers(tx, destination.id));
      for (const other of all) if (other.id !== subscriber.id) await remove(destination, publicId(other));
    },
    list: (destination, page) => store.read((tx) => listSubscribers(tx, destination.id, page)),
    get: find,
    attempts: async ({ id }) => engine.attemptsOf(id) ?? store.read((tx) => readAttempts(tx, id)),
    enable,
    async disable(destination, word) {
      const { id } = await find(destination, word);
      await store.transaction((tx) => markDisabled(tx, id));
      await tell(destination);
      return find(destination, word);
    },
    async tryNow(destination, word) {
      const { id, state } = await find(destination, word);
      const isDue = state === RETRYING && (await store.transaction((tx) => markDueNow(tx, id, store.now())));
      if (!isDue) throw new Problem('conflict', 'nothing waits to be tried again');
      await tell(destination);
      return find(destination, word);
    },
    remove,
  };
}
