/** What the use cases of this area share. */
import type { Publisher, ServiceEvent } from '../../messaging/usecases/events.ts';
import { Problem } from '../../problems.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { Change, Consumer, Termination } from '../consumer.ts';

/** Addresses, as paths. The table of routes belongs to HTTP; use cases are handed what they need of it. */
export interface Addresses {
  consumer(id: string): string;
  terminateConsumer(id: string): string;
  reinstateConsumer(id: string): string;
  entitlement(id: string): string;
  terminateEntitlement(id: string): string;
  reinstateEntitlement(id: string): string;
}

/** Throws when the caller does not want the change on what is there now. */
export type Check = (version: string | number) => void;

export interface Transition {
  readonly change: Change;
  /** A change that changes nothing is refused. */
  readonly strict: boolean;
  readonly check: Check;
}

/** What a job did: its outcome, and the events that tell of it. */
export interface Told<T> {
  readonly outcome: T;
  readonly events: readonly ServiceEvent[];
}

export interface Context {
  readonly store: Store;
  readonly addresses: Addresses;
  /** Runs a job, posts its events in the same commit, and wakes those who wait for them. */
  change<T>(job: (tx: Tx) => Promise<Told<T>>): Promise<T>;
}

export function createContext(store: Store, addresses: Addresses, publisher: () => Promise<Publisher>): Context {
  return {
    store,
    addresses,
    async change(job) {
      const { publishLast, announce } = await publisher();
      const { outcome, events } = await store.transaction(async (tx) => {
        const told = await job(tx);
        await publishLast(tx, told.events);
        return told;
      });
      if (events.length > 0) announce();
      return outcome;
    },
  };
}

export const unknownConsumer = (): Problem => new Problem('unknown-consumer', 'there is no consumer with this id');
export const unknownEntitlement = (): Problem =>
  new Problem('unknown-entitlement', 'there is no entitlement with this id');

/** The next version. Time never goes back on a thing, whatever the clocks of several nodes say. */
export const stepOf = ({ version, updated }: Pick<Consumer, 'version' | 'updated'>, now: number) => ({
  version: version + 1,
  updated: Math.max(now, updated),
});

export function terminationBy({ by, reason }: Change, at: number): Termination {
  return { at, ...(by === undefined ? {} : { by }), ...(reason === undefined ? {} : { reason }) };
}

/** What events say of who and why. */
export const toldOf = ({ by, reason }: Change): Readonly<Record<string, string>> => ({
  ...(by === undefined ? {} : { by }),
  ...(reason === undefined ? {} : { reason }),
});

export function stateUnchanged(what: string, state: string, link: { rel: string; href: string }): Problem {
  return new Problem('state-unchanged', `the ${what} is ${state} already`, { links: [link] });
}

/** The link by which a consumer goes to its other state. */
export function otherStateLink({ id, terminated }: Pick<Consumer, 'id' | 'terminated'>, addresses: Addresses) {
  return terminated === undefined
    ? { rel: 'terminate', href: addresses.terminateConsumer(id) }
    : { rel: 'reinstate', href: addresses.reinstateConsumer(id) };
}
