/** Use cases of entitlements. Each change locks the consumer's row first: what one may have depends on the others. */
import { newUuid } from '../../ids.ts';
import type { ServiceEvent } from '../../messaging/usecases/events.ts';
import { type FieldError, Problem } from '../../problems.ts';
import type { Tx } from '../../store/store.ts';
import { type Change, type Consumer, refuseOtherId, refuseOtherState } from '../consumer.ts';
import {
  changedFields,
  type Entitlement,
  type EntitlementChanges,
  type EntitlementUpdate,
  holdsPlace,
  mayClaim,
  type NewEntitlement,
  stateAt,
  versionOf,
} from '../entitlement.ts';
import { countEntitlements, lockConsumer } from '../queries/consumers.ts';
import {
  findEntitlement,
  findRival,
  insertEntitlement,
  updateEntitlement,
  writeEntitlementMark,
} from '../queries/entitlements.ts';
import {
  type Addresses,
  type Check,
  type Context,
  stateUnchanged,
  stepOf,
  type Told,
  type Transition,
  terminationBy,
  toldOf,
  unknownConsumer,
  unknownEntitlement,
} from './context.ts';

export interface Entitlements {
  create(consumer: string, entitlement: NewEntitlement): Promise<Entitlement>;
  /** Throws 404 when there is none. */
  get(id: string): Promise<Entitlement>;
  update(id: string, update: EntitlementUpdate, check: Check): Promise<Entitlement>;
  terminate(id: string, transition: Transition): Promise<Entitlement>;
  reinstate(id: string, transition: Transition): Promise<Entitlement>;
}

export function createEntitlements(context: Context): Entitlements {
  const { store, addresses, change } = context;

  /** The entitlement as it is once nobody else can change it or its consumer. */
  async function lock(tx: Tx, id: string): Promise<Entitlement> {
    const found = await findEntitlement(tx, id);
    if (found === undefined) throw unknownEntitlement();
    await lockConsumer(tx, found.consumer.id);
    return (await findEntitlement(tx, id)) ?? found;
  }

  /** One entitlement per consumer and product may be in force or still to come. */
  async function refuseSecond(tx: Tx, wanted: Entitlement, now: number): Promise<void> {
    if (!holdsPlace(wanted, now)) return;
    const first = await findRival(tx, wanted, now);
    if (first === undefined) return;
    const links = [{ rel: 'entitlement', href: addresses.entitlement(first.id) }];
    const detail = `the consumer has an entitlement to the product ${wanted.product.id} that is neither terminated nor expired`;
    throw new Problem('already-entitled', detail, { links });
  }

  async function reinstateLocked(tx: Tx, present: Entitlement, said: Change): Promise<Told<Entitlement>> {
    const { terminated: _, ...rest } = present;
    const now = store.now();
    const outcome = { ...rest, ...stepOf(present, now) };
    await refuseSecond(tx, outcome, now);
    await writeEntitlementMark(tx, outcome);
    await countEntitlements(tx, outcome.consumer.n, 1);
    return { outcome, events: [eventOf(addresses, 'reinstated', outcome, toldOf(said))] };
  }

  return {
    async create(consumerId, { id = newUuid(), product, quantity, start, end }) {
      const n = store.nextId();
      return change(async (tx) => {
        const consumer = await lockConsumer(tx, consumerId);
        if (consumer === undefined) throw unknownConsumer();
        if (consumer.terminated !== undefined) throw consumerTerminated(consumer, addresses);
        const now = Math.max(store.now(), consumer.created);
        const made: Entitlement = {
          n,
          id,
          product: { id: product.id, ...(product.name === null ? {} : { name: product.name }) },
          quantity,
          start: start ?? now,
          end,
          version: 1,
          created: now,
          updated: now,
          consumer: { n: consumer.n, id: consumer.id, epoch: consumer.epoch },
        };
        refuseEmptyPeriod(made);
        await refuseSecond(tx, made, now);
        if (!(await insertEntitlement(tx, made))) {
          const links = [{ rel: 'about', href: addresses.entitlement(id) }];
          throw new Problem('entitlement-exists', `there is an entitlement with the id ${id} already`, { links });
        }
        await countEntitlements(tx, consumer.n, 1);
        return { outcome: made, events: [eventOf(addresses, 'created', made, { quantity })] };
      });
    },
    async get(id) {
      const found = await store.read((tx) => findEntitlement(tx, id));
      if (found === undefined) throw unknownEntitlement();
      return found;
    },
    async update(id, update, check) {
      return change(async (tx) => {
        const present = await lock(tx, id);
        const now = store.now();
        check(versionOf(present, now));
        refuseClaims(present, update.claimed, addresses, now);
        const changed = changedFields(present, update.changes);
        if (changed.length === 0) return { outcome: present, events: [] };
        const outcome = { ...withChanges(present, update.changes), ...stepOf(present, now) };
        refuseEmptyPeriod(outcome);
        // A longer life may bring it back into force beside another one.
        if (present.terminated === undefined && !holdsPlace(present, now)) await refuseSecond(tx, outcome, now);
        await updateEntitlement(tx, outcome);
        return { outcome, events: [eventOf(addresses, 'updated', outcome, { changed })] };
      });
    },
    async terminate(id, { change: said, strict, check }) {
      return change(async (tx) => {
        const present = await lock(tx, id);
        check(versionOf(present, store.now()));
        if (present.terminated === undefined && present.consumer.terminated === undefined) {
          return terminateLocked(context, tx, present, said);
        }
        const link = { rel: 'self', href: addresses.entitlement(id) };
        if (strict) throw stateUnchanged('entitlement', 'terminated', link);
        return { outcome: present, events: [] };
      });
    },
    async reinstate(id, { change: said, strict, check }) {
      return change(async (tx) => {
        const present = await lock(tx, id);
        check(versionOf(present, store.now()));
        if (present.consumer.terminated !== undefined) throw consumerTerminated(present.consumer, addresses);
        if (present.terminated !== undefined) return reinstateLocked(tx, present, said);
        const link = { rel: 'terminate', href: addresses.terminateEntitlement(id) };
        if (strict) throw stateUnchanged('entitlement', stateAt(present, store.now()), link);
        return { outcome: present, events: [] };
      });
    },
  };
}

function eventOf(
  addresses: Addresses,
  type: string,
  entitlement: Entitlement,
  data: ServiceEvent['data'],
): ServiceEvent {
  const { id, version, consumer, product } = entitlement;
  return {
    type: `entitlement.${type}`,
    subject: addresses.entitlement(id),
    data: { id, version, consumer: consumer.id, product: product.id, ...data },
  };
}

/** Marks an entitlement that is not terminated, while its consumer's row is locked. */
export async function terminateLocked(
  { store, addresses }: Context,
  tx: Tx,
  present: Entitlement,
  said: Change,
): Promise<Told<Entitlement>> {
  const step = stepOf(present, store.now());
  const outcome = { ...present, ...step, terminated: terminationBy(said, step.updated) };
  await writeEntitlementMark(tx, outcome);
  await countEntitlements(tx, outcome.consumer.n, -1);
  return { outcome, events: [eventOf(addresses, 'terminated', outcome, toldOf(said))] };
}

function consumerTerminated({ id }: Pick<Consumer, 'id'>, addresses: Addresses): Problem {
  const links = [
    { rel: 'consumer', href: addresses.consumer(id) },
    { rel: 'reinstate', href: addresses.reinstateConsumer(id) },
  ];
  return new Problem('consumer-terminated', 'the consumer is terminated; follow its reinstate link first', { links });
}

function withChanges(present: Entitlement, { productName, ...changes }: EntitlementChanges): Entitlement {
  if (productName === undefined) return { ...present, ...changes };
  const { id } = present.product;
  return { ...present, ...changes, product: productName === null ? { id } : { id, name: productName } };
}

function refuseEmptyPeriod({ start, end }: Pick<Entitlement, 'start' | 'end'>): void {
  if (end === null || end > start) return;
  const errors: FieldError[] = [{ pointer: '/end', detail: 'must be after start' }];
  throw new Problem('invalid', 'end must be after start', { errors });
}

function refuseClaims(
  present: Entitlement,
  claimed: EntitlementUpdate['claimed'],
  addresses: Addresses,
  now: number,
): void {
  const self = { rel: 'self', href: addresses.entitlement(present.id) };
  refuseOtherId(claimed.id, present.id, [self]);
  const fixed = { product: present.product.id, consumer: present.consumer.id };
  for (const name of ['product', 'consumer'] as const) {
    if (claimed[name] === undefined || claimed[name] === fixed[name]) continue;
    const detail = `must be ${fixed[name]} or left out: an entitlement stays with its ${name}`;
    throw new Problem('invalid', `${name} ${detail}`, { errors: [{ pointer: `/${name}`, detail }], links: [self] });
  }
  const state = stateAt(present, now);
  if (claimed.state === undefined || mayClaim(claimed.state, state)) return;
  const link = stateLink(present, addresses);
  const how = link.rel === 'self' ? 'it follows from start and end' : `follow the ${link.rel} link`;
  refuseOtherState(`is ${state}; a representation sent here never changes it: ${how}`, [link]);

  function stateLink({ id, terminated, consumer }: Entitlement, to: Addresses): { rel: string; href: string } {
    if (consumer.terminated !== undefined) return { rel: 'reinstate', href: to.reinstateConsumer(consumer.id) };
    if (terminated !== undefined) return { rel: 'reinstate', href: to.reinstateEntitlement(id) };
    return claimed.state === 'terminated' ? { rel: 'terminate', href: to.terminateEntitlement(id) } : self;
  }
}
