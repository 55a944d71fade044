/** Use cases of consumers. Each change locks the consumer's row first, so that all of them have one order. */
import type { Page } from '../../http/paging.ts';
import { newUuid } from '../../ids.ts';
import type { ServiceEvent } from '../../messaging/usecases/events.ts';
import { Problem } from '../../problems.ts';
import type { Tx } from '../../store/store.ts';
import {
  type Change,
  type Consumer,
  type ConsumerChanges,
  type ConsumerState,
  type ConsumerUpdate,
  changedFields,
  type NewConsumer,
  refuseOtherId,
  refuseOtherState,
  stateOf,
} from '../consumer.ts';
import {
  findConsumer,
  findConsumerByKey,
  freeKey,
  insertConsumer,
  listConsumers,
  lockConsumer,
  takeKey,
  updateConsumer,
  writeConsumerState,
} from '../queries/consumers.ts';
import {
  type Check,
  type Context,
  otherStateLink,
  stateUnchanged,
  stepOf,
  type Told,
  type Transition,
  terminationBy,
  toldOf,
  unknownConsumer,
} from './context.ts';

export interface Consumers {
  create(consumer: NewConsumer): Promise<Consumer>;
  /** Throws 404 when there is none; one that is terminated is found like any other. */
  get(id: string): Promise<Consumer>;
  findByKey(key: string): Promise<Consumer | undefined>;
  list(page: Page, from: number, status: ConsumerState | 'all'): Promise<Consumer[]>;
  update(id: string, update: ConsumerUpdate, check: Check): Promise<Consumer>;
  terminate(id: string, transition: Transition): Promise<Consumer>;
  reinstate(id: string, transition: Transition): Promise<Consumer>;
}

export function createConsumers(context: Context): Consumers {
  const { store, addresses, change } = context;

  const event = (type: string, { id, version }: Consumer, data: ServiceEvent['data'] = {}): ServiceEvent => ({
    type: `consumer.${type}`,
    subject: addresses.consumer(id),
    data: { id, version, ...data },
  });

  async function lock(tx: Tx, id: string): Promise<Consumer> {
    const found = await lockConsumer(tx, id);
    if (found === undefined) throw unknownConsumer();
    return found;
  }

  async function refuseKey(tx: Tx, key: string): Promise<never> {
    const owner = await findConsumerByKey(tx, key);
    const links = owner === undefined ? [] : [{ rel: 'about', href: addresses.consumer(owner.id) }];
    const errors = [{ pointer: '/external-key', detail: 'must be one that no other consumer has' }];
    throw new Problem('external-key-taken', 'another consumer has this external key', { links, errors });
  }

  async function transition(
    id: string,
    { change: said, strict, check }: Transition,
    to: ConsumerState,
  ): Promise<Consumer> {
    return change(async (tx) => {
      const present = await lock(tx, id);
      check(present.version);
      if (stateOf(present) === to) {
        if (strict) throw stateUnchanged('consumer', to, otherStateLink(present, addresses));
        return { outcome: present, events: [] };
      }
      return to === 'terminated' ? terminateLocked(context, tx, present, said) : reinstateLocked(tx, present, said);
    });
  }

  async function reinstateLocked(tx: Tx, present: Consumer, said: Change): Promise<Told<Consumer>> {
    const { terminated: _, ...rest } = present;
    const outcome = { ...rest, ...stepOf(present, store.now()), epoch: present.epoch + 1 };
    await writeConsumerState(tx, outcome);
    const data = { entitlements: outcome.entitlements, ...toldOf(said) };
    return { outcome, events: [event('reinstated', outcome, data)] };
  }

  return {
    async create({ id = newUuid(), ...fields }) {
      const n = store.nextId();
      return change(async (tx) => {
        const now = store.now();
        const made = { n, id, ...fields, version: 1, epoch: 0, entitlements: 0, created: now, updated: now };
        if (!(await insertConsumer(tx, made))) {
          const links = [{ rel: 'about', href: addresses.consumer(id) }];
          throw new Problem('consumer-exists', `there is a consumer with the id ${id} already`, { links });
        }
        const { externalKey } = fields;
        if (externalKey !== null && !(await takeKey(tx, externalKey, n))) await refuseKey(tx, externalKey);
        return { outcome: made, events: [event('created', made)] };
      });
    },
    async get(id) {
      const found = await store.read((tx) => findConsumer(tx, id));
      if (found === undefined) throw unknownConsumer();
      return found;
    },
    findByKey: (key) => store.read((tx) => findConsumerByKey(tx, key)),
    list: (page, from, status) => store.read((tx) => listConsumers(tx, page, from, status)),
    async update(id, { changes, claimed }, check) {
      return change(async (tx) => {
        const present = await lock(tx, id);
        check(present.version);
        refuseOtherId(claimed.id, id, [{ rel: 'self', href: addresses.consumer(id) }]);
        const state = stateOf(present);
        if (claimed.state !== undefined && claimed.state !== state) {
          const link = otherStateLink(present, addresses);
          refuseOtherState(`is ${state}; a representation sent here never changes it: follow the ${link.rel} link`, [
            link,
          ]);
        }
        const changed = changedFields(present, changes);
        if (changed.length === 0) return { outcome: present, events: [] };
        const outcome = { ...present, ...changes, ...stepOf(present, store.now()) };
        if (changed.includes('external-key')) await changeKey(tx, present, changes);
        await updateConsumer(tx, outcome);
        return { outcome, events: [event('updated', outcome, { changed })] };
      });
    },
    terminate: (id, how) => transition(id, how, 'terminated'),
    reinstate: (id, how) => transition(id, how, 'active'),
  };

  async function changeKey(tx: Tx, present: Consumer, { externalKey }: ConsumerChanges): Promise<void> {
    if (present.externalKey !== null) await freeKey(tx, present.externalKey);
    if (typeof externalKey === 'string' && !(await takeKey(tx, externalKey, present.n)))
      await refuseKey(tx, externalKey);
  }
}

/** Terminates an active consumer whose row is locked: one write, however many entitlements end with it. */
export async function terminateLocked(
  { store, addresses }: Context,
  tx: Tx,
  present: Consumer,
  said: Change,
): Promise<Told<Consumer>> {
  const step = stepOf(present, store.now());
  const outcome = { ...present, ...step, epoch: present.epoch + 1, terminated: terminationBy(said, step.updated) };
  await writeConsumerState(tx, outcome);
  const { id, version, entitlements } = outcome;
  const data = { id, version, entitlements, ...toldOf(said) };
  return { outcome, events: [{ type: 'consumer.terminated', subject: addresses.consumer(id), data }] };
}
