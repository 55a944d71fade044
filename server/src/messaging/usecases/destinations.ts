/** Use cases of destinations, and what a node remembers of them so that a post needs no look-up. */
import type { Page } from '../../http/paging.ts';
import { Problem } from '../../problems.ts';
import type { Store, Tx } from '../../store/store.ts';
import { type Counts, type Destination, makeDestination } from '../destination.ts';
import { checkName } from '../names.ts';
import {
  countQueue,
  countTopic,
  deadLetterSource,
  deleteDestination,
  findDestination,
  holdsMessages,
  insertDestination,
  insertTopicPosition,
  listDestinations,
  lockDeadLetterNames,
  lockDestination,
  presencesOf,
  queueIds,
  updateSettings,
} from '../queries/destinations.ts';
import { type DestinationKind, refuseChain, type Settings } from '../settings.ts';
import { refuseClients } from '../system-topics.ts';

/** How many destinations a node remembers, and for how long it trusts what other nodes may have changed. */
const MAX_REMEMBERED = 100_000;
const TRUST_MILLISECONDS = 2500;
/** Those asked for within this time are compared with the store, so many by one statement. */
const IN_USE_MILLISECONDS = 30_000;
const COMPARED_TOGETHER = 1000;

interface Remembered {
  readonly destination: Destination;
  /** By `performance.now`. */
  until: number;
  /** When it was last asked for, by the same clock. */
  used: number;
}

export interface Destinations {
  /** The one that is remembered, without a look at the store: what the hot paths ask first. */
  known(kind: DestinationKind, name: string): Destination | undefined;
  /** Makes sure of what is remembered and in use. Called once a second. */
  refresh(): Promise<void>;
  /** Undefined when there is none. */
  find(kind: DestinationKind, name: string): Promise<Destination | undefined>;
  /** Whether its dead-letter queue is there yet; it comes with the first dead message. */
  hasDeadLetter(destination: Destination): Promise<boolean>;
  /** Throws 404 when there is none. From memory where it can: for the hot paths, which notice when it was wrong. */
  get(kind: DestinationKind, name: string): Promise<Destination>;
  /** The same as it is in the store at this moment, whatever another node did to it just now. */
  look(kind: DestinationKind, name: string): Promise<Destination>;
  /** Gives the existing one, or makes it with default settings. */
  ensure(kind: DestinationKind, name: string): Promise<Destination>;
  create(kind: DestinationKind, name: string, settings: Settings): Promise<Destination>;
  /** Creates or replaces the settings. `check` sees the present one and may throw. */
  put(
    kind: DestinationKind,
    name: string,
    settings: Settings,
    check: (present: Destination | undefined) => void,
  ): Promise<{ destination: Destination; created: boolean }>;
  remove(destination: Destination, force: boolean, check: (present: Destination) => void): Promise<void>;
  list(kind: DestinationKind, page: Page): Promise<Destination[]>;
  counts(destination: Destination): Promise<Counts | { retained: number }>;
  /** Forgets what is remembered: it was found wrong, or another node changed it. */
  forget(kind: DestinationKind, name: string): void;
}

export function createDestinations(store: Store): Destinations {
  const remembered = {
    queue: new Map<string, Remembered>(),
    topic: new Map<string, Remembered>(),
  };
  const byId = new Map<number, Remembered>();

  /** Grows with every change that is heard of. */
  let changes = 0;

  /** `since`: the count of changes before the look. What was seen before a change must not be remembered after it. */
  function remember(destination: Destination, since: number): Destination {
    if (since !== changes) return destination;
    if (byId.size >= MAX_REMEMBERED) forgetAll();
    // A single node hears of every change; others may miss an announcement and look again from time to time.
    const until = store.engine === 'sqlite' ? Number.POSITIVE_INFINITY : performance.now() + TRUST_MILLISECONDS;
    const entry = { destination, until, used: performance.now() };
    remembered[destination.kind].set(destination.name, entry);
    byId.set(destination.id, entry);
    return destination;
  }

  function forget(kind: DestinationKind, name: string): void {
    const entry = remembered[kind].get(name);
    if (entry !== undefined) byId.delete(entry.destination.id);
    remembered[kind].delete(name);
  }

  function forgetAll(): void {
    remembered.queue.clear();
    remembered.topic.clear();
    byId.clear();
  }

  store.listen(({ changed, everything }) => {
    if (everything) forgetAll();
    if (everything || changed?.length) changes++;
    for (const id of changed ?? []) {
      const entry = byId.get(id);
      if (entry !== undefined) forget(entry.destination.kind, entry.destination.name);
    }
  });

  /** Compares what is in use with the store, many at a time: a node with thousands of queues would look up each of them. */
  async function refresh(): Promise<void> {
    if (store.engine === 'sqlite') return;
    const since = performance.now() - IN_USE_MILLISECONDS;
    const used = [...byId.values()].filter((entry) => entry.used > since);
    for (let from = 0; from < used.length; from += COMPARED_TOGETHER) {
      const some = used.slice(from, from + COMPARED_TOGETHER);
      const until = performance.now() + TRUST_MILLISECONDS;
      const presences = await store.read((tx) =>
        presencesOf(
          tx,
          some.map(({ destination }) => destination.id),
        ),
      );
      for (const entry of some) {
        const { id, kind, name, version, isForDead } = entry.destination;
        if (byId.get(id) !== entry) continue;
        const present = presences.get(id);
        if (present?.version === version && present.isForDead === isForDead) entry.until = until;
        else forget(kind, name);
      }
    }
  }

  function known(kind: DestinationKind, name: string): Destination | undefined {
    const entry = remembered[kind].get(name);
    const now = performance.now();
    if (entry === undefined || entry.until <= now) return undefined;
    entry.used = now;
    return entry.destination;
  }

  async function find(kind: DestinationKind, name: string): Promise<Destination | undefined> {
    return known(kind, name) ?? findStored(kind, name);
  }

  async function findStored(kind: DestinationKind, name: string): Promise<Destination | undefined> {
    const since = changes;
    const found = await store.read((tx) => findDestination(tx, kind, checkName(name, 'destination name')));
    if (found === undefined) forget(kind, name);
    return found && remember(found, since);
  }

  /**
   * A dead-letter queue has none itself: in a circle of them a message would die without end. The look is made while nobody
   * else names one, or two settings together could close a circle that neither sees.
   */
  async function refuseChains(tx: Tx, name: string, { 'dead-letter': target }: Settings): Promise<void> {
    if (target === undefined) return;
    const beyond = (await findDestination(tx, 'queue', target))?.settings['dead-letter'];
    if (beyond !== undefined) refuseChain(`must not be ${target}, which has a dead-letter queue itself`);
    const source = await deadLetterSource(tx, name);
    if (source !== undefined) refuseChain(`is not for ${name}, which ${source} names as its dead-letter queue`);
  }

  /** To be called before anything else is locked. */
  async function prepareNaming(tx: Tx, { 'dead-letter': target }: Settings): Promise<void> {
    if (target !== undefined) await lockDeadLetterNames(tx);
  }

  /** The queues that became dead-letter queues, or may no longer be ones, by what a queue named before and names now. */
  async function renamed(tx: Tx, before: Settings | undefined, after: Settings | undefined): Promise<number[]> {
    const names = [before?.['dead-letter'], after?.['dead-letter']];
    if (names[0] === names[1]) return [];
    return queueIds(
      tx,
      names.filter((name) => name !== undefined),
    );
  }

  /** Whether others name it, when it is made: it may be named before it is there. */
  const isNamed = async (tx: Tx, kind: DestinationKind, name: string): Promise<boolean> =>
    kind === 'queue' && (await deadLetterSource(tx, name)) !== undefined;

  /** Inserts it unless it is there; either way gives what is there afterwards. */
  async function insert(kind: DestinationKind, name: string, settings: Settings) {
    const fresh = { id: store.nextId(), kind, name, settings, version: 1, created: store.now() };
    return store.transaction(async (tx) => {
      await prepareNaming(tx, settings);
      const created = await insertDestination(tx, fresh);
      if (created) await refuseChains(tx, name, settings);
      if (created && kind === 'topic') await insertTopicPosition(tx, fresh.id);
      const present = created ? undefined : await findDestination(tx, kind, name);
      const destination = present ?? makeDestination(fresh, await isNamed(tx, kind, name));
      return { created, destination, changed: created ? await renamed(tx, undefined, settings) : [] };
    });
  }

  async function ensure(kind: DestinationKind, name: string): Promise<Destination> {
    const found = await find(kind, name);
    if (found !== undefined) return found;
    const since = changes;
    return remember((await insert(kind, name, {})).destination, since);
  }

  return {
    known,
    refresh,
    find,
    async hasDeadLetter({ effective: { 'dead-letter': name } }) {
      return name !== undefined && (await find('queue', name)) !== undefined;
    },
    get: async (kind, name) => (await find(kind, name)) ?? unknown(kind, name),
    look: async (kind, name) => (await findStored(kind, name)) ?? unknown(kind, name),
    ensure,
    async create(kind, name, settings) {
      checkName(name, 'destination name');
      const since = changes;
      const { created, destination, changed } = await insert(kind, name, settings);
      if (!created) throw new Problem('destination-exists', `there is a ${kind} named ${name} already`);
      remember(destination, since);
      if (changed.length > 0) store.announce({ changed });
      return destination;
    },
    async put(kind, name, settings, check) {
      checkName(name, 'destination name');
      const fresh = { id: store.nextId(), kind, name, settings, version: 1, created: store.now() };
      const since = changes;
      const outcome = await store.transaction(async (tx) => {
        await prepareNaming(tx, settings);
        const present = await lockDestination(tx, kind, name);
        check(present);
        await refuseChains(tx, name, settings);
        const changed = await renamed(tx, present?.settings, settings);
        if (present !== undefined) {
          await updateSettings(tx, present.id, settings);
          const record = { ...present, settings, version: present.version + 1 };
          const destination = makeDestination(record, present.isForDead);
          return { created: false, destination, changed: [present.id, ...changed] };
        }
        const created = await insertDestination(tx, fresh);
        // Someone else made it since we looked: the job runs again from its beginning.
        if (!created) return undefined;
        if (kind === 'topic') await insertTopicPosition(tx, fresh.id);
        return { created: true, destination: makeDestination(fresh, await isNamed(tx, kind, name)), changed };
      });
      if (outcome === undefined) return this.put(kind, name, settings, check);
      const destination = remember(outcome.destination, since);
      if (outcome.changed.length > 0) store.announce({ changed: outcome.changed });
      return { destination, created: outcome.created };
    },
    async remove({ kind, name }, force, check) {
      refuseClients(kind, name);
      const removed = await store.transaction(async (tx) => {
        const present = await lockDestination(tx, kind, name);
        if (present === undefined) return unknown(kind, name);
        check(present);
        if (!force && (await holdsMessages(tx, present, store.now()))) {
          throw new Problem(
            'destination-not-empty',
            `the ${kind} ${name} still holds messages; repeat with ?force=true to drop them`,
          );
        }
        await deleteDestination(tx, present.id);
        return [present.id, ...(await renamed(tx, present.settings, undefined))];
      });
      forget(kind, name);
      store.announce({ changed: removed });
    },
    list: (kind, page) => store.read((tx) => listDestinations(tx, kind, page)),
    counts: ({ id, kind }) =>
      store.read(async (tx) =>
        kind === 'queue' ? countQueue(tx, id, store.now()) : { retained: await countTopic(tx, id) },
      ),
    forget,
  };
}

function unknown(kind: DestinationKind, name: string): never {
  throw new Problem('unknown-destination', `there is no ${kind} named ${name}; PUT on its address creates it`);
}
