/** Two nodes on one store, or on SQLite one node that stands for both, with a clock that the test turns. */

import { freshDatabase } from '../../../testing/databases.ts';
import { temporaryFolder } from '../../../testing/folders.ts';
import { sweepDoomed } from '../../src/duties/sweep.ts';
import { createSealer } from '../../src/ids.ts';
import type { Destination } from '../../src/messaging/destination.ts';
import type { PostingWishes } from '../../src/messaging/message.ts';
import { createMessaging, type Messaging } from '../../src/messaging/messaging.ts';
import type { Settings } from '../../src/messaging/settings.ts';
import { NO_TRANSACTIONS } from '../../src/messaging/usecases/enlisting.ts';
import type { Draft } from '../../src/messaging/usecases/posting.ts';
import type { Verdict } from '../../src/messaging/usecases/receiving.ts';
import type { Client } from '../../src/messaging/usecases/waiting.ts';
import { Problem } from '../../src/problems.ts';
import { openPostgres } from '../../src/store/postgres/postgres.ts';
import { openSqlite } from '../../src/store/sqlite/sqlite.ts';
import type { ClaimedMessage, Store } from '../../src/store/store.ts';

export type Kind = 'queue' | 'topic';

export interface Nodes {
  readonly clock: { time: number };
  /** The nodes in turn. */
  node(turn: number): Messaging;
  /** The nodes' stores, each once. */
  readonly stores: readonly Store[];
  freshName(): string;
  close(): Promise<void>;
}

const OPTIONS = {
  autoCreate: true,
  maxWaiting: 1000,
  rememberIds: 86_400_000,
  onceLifetime: 604_800_000,
  enlister: NO_TRANSACTIONS,
};

export async function openNodes(engine: 'sqlite' | 'postgresql'): Promise<Nodes> {
  const clock = { time: 1_800_000_000_000 };
  const now = (): number => clock.time;
  const { stores, drop } = engine === 'sqlite' ? await onSqlite(now) : await onPostgres(now);
  const nodes = stores.map((store) => createMessaging(store, createSealer(store.secret), OPTIONS));
  let names = 0;
  return {
    clock,
    stores,
    node: (turn) => nodes[turn % nodes.length] as Messaging,
    freshName: () => `race-${++names}`,
    async close() {
      for (const node of nodes) node.waiters.stop();
      await Promise.all(stores.map((store) => store.close()));
      await drop();
    },
  };
}

async function onSqlite(now: () => number) {
  const store = await openSqlite(temporaryFolder({ inMemory: true }), { now });
  return { stores: [store], drop: async () => {} };
}

async function onPostgres(now: () => number) {
  const { url, drop } = await freshDatabase();
  return { stores: [await openPostgres(url, { now }), await openPostgres(url, { now })], drop };
}

export const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** As many at once as every use case must bear. */
export const SIXTEEN = range(16);

/** Starts all of them in one turn and waits for all. */
export const race = <T>(runners: readonly (() => Promise<T>)[]): Promise<T[]> =>
  Promise.all(runners.map((run) => run()));

export const patient: Client = { gone: false, onGone: () => () => {}, unwatched: false, onUnwatched: () => () => {} };

export const draft = (body: string): Draft => ({ contentType: 'text/plain', fields: [], body: Buffer.from(body) });

export const bodyOf = ({ body }: { body: Buffer }): string => body.toString();

/** `ok`, or the code of the problem. */
export async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'ok';
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
}

export function tally(outcomes: readonly unknown[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[String(outcome)] = (counts[String(outcome)] ?? 0) + 1;
  return counts;
}

export async function create(nodes: Nodes, kind: Kind, settings: Settings = {}, name = nodes.freshName()) {
  return nodes.node(0).destinations.create(kind, name, settings);
}

export function post(node: Messaging, { kind, name }: Pick<Destination, 'kind' | 'name'>, body: string, wishes = {}) {
  return node.posting.post({ kind, name, drafts: [draft(body)], wishes: wishes as PostingWishes });
}

export const poll = (node: Messaging, queue: Destination, max = 1): Promise<readonly ClaimedMessage[]> =>
  node.receiving.poll(queue, { max, wait: 0 }, patient);

/** Takes everything that is available now, in order. */
export async function receiveAll(node: Messaging, queue: Destination): Promise<string[]> {
  const bodies: string[] = [];
  for (;;) {
    const taken = await node.receiving.receive(queue, { max: 100, wait: 0 }, patient);
    if (taken.length === 0) return bodies;
    bodies.push(...taken.map(bodyOf));
  }
}

export const settle = (node: Messaging, queue: Destination, message: ClaimedMessage, verdict: Verdict) =>
  outcomeOf(node.receiving.settle(queue, node.publicId(message), message.token, verdict));

export const ACKNOWLEDGE: Verdict = { kind: 'acknowledge' };
export const RETURN: Verdict = { kind: 'return', delay: 0 };

/** The steps of both nodes' redelivery duties, at once, until nothing more is due and both nodes know. */
export async function redeliver(nodes: Nodes): Promise<void> {
  await race([0, 1].map((turn) => () => redeliverOn(nodes.node(turn))));
  await hearEachOther(nodes);
}

/**
 * Comes back when every node has heard all that was announced until now. Until then a claim may start behind what another
 * node has just made available, and find it a little later: that is promised, but not what the races are about.
 */
async function hearEachOther({ stores }: Nodes): Promise<void> {
  const mark = stores[0]?.nextId() ?? 0;
  const heard = stores.map((store) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let missing = stores.length;
    // News of one node comes in its order, so its mark comes last; each node hears its own, too.
    store.listen(({ changed, everything }) => {
      if ((everything || changed?.includes(mark)) && --missing === 0) resolve();
    });
    return promise;
  });
  for (const store of stores) store.announce({ changed: [mark] });
  await Promise.all(heard);
}

export async function redeliverOn(node: Messaging): Promise<void> {
  while ((await node.redelivery.step()).more);
}

export async function sweep({ stores }: Nodes): Promise<void> {
  for (const store of stores) while ((await sweepDoomed(store)) === 0);
}
