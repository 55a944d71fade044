/** Use cases of terminating many: at once, or as a job in the background that survives restarts. */
import type { Sealer } from '../../ids.ts';
import type { ServiceEvent } from '../../messaging/usecases/events.ts';
import { Problem } from '../../problems.ts';
import type { Tx } from '../../store/store.ts';
import { type BulkOrder, type Job, KEPT_MILLISECONDS, type Outcome, PIECE, type Target } from '../bulk.ts';
import type { Consumer } from '../consumer.ts';
import type { Entitlement } from '../entitlement.ts';
import { lockConsumers } from '../queries/consumers.ts';
import { findEntitlements } from '../queries/entitlements.ts';
import {
  findJob,
  forgetJobs,
  hasOpenJob,
  insertJob,
  insertPiece,
  outcomesOf,
  takeOpenJob,
  writeProgress,
} from '../queries/terminations.ts';
import { terminateLocked as terminateConsumer } from './consumers.ts';
import type { Context, Told } from './context.ts';
import { terminateLocked as terminateEntitlement } from './entitlements.ts';

export interface Bulk {
  /** Piece by piece; what was done stays done if a later piece fails. */
  run(order: BulkOrder): Promise<Outcome[]>;
  /** Stores the order; a duty carries it out. */
  start(order: BulkOrder): Promise<Job>;
  /** Throws 404 when there is none, or when it was finished long ago. */
  look(publicId: string): Promise<{ job: Job; outcomes: Outcome[] }>;
  publicId(job: Pick<Job, 'id'>): string;
  /** Does the next piece of a job; tells whether there may be more to do. */
  step(): Promise<boolean>;
  /** Calls back when a job was started here. */
  onStarted(listener: () => void): void;
}

type Found = { readonly terminated: boolean; end(): Promise<readonly ServiceEvent[]> };

export function createBulk(context: Context, sealer: Sealer): Bulk {
  const { store, change } = context;
  const listeners: (() => void)[] = [];

  /** Locks the consumers concerned, in one order for everybody, and gives what can be done with each id. */
  async function find(tx: Tx, { kind, change: said }: BulkOrder, ids: readonly string[]): Promise<Map<string, Found>> {
    if (kind === 'consumer') {
      const consumers = await lockConsumers(tx, ids);
      return mapValues(consumers, (consumer: Consumer) => ({
        terminated: consumer.terminated !== undefined,
        end: async () => (await terminateConsumer(context, tx, consumer, said)).events,
      }));
    }
    const owners = [...(await findEntitlements(tx, ids)).values()].map(({ consumer }) => consumer.id);
    await lockConsumers(tx, [...new Set(owners)]);
    return mapValues(await findEntitlements(tx, ids), (entitlement: Entitlement) => ({
      terminated: entitlement.terminated !== undefined || entitlement.consumer.terminated !== undefined,
      end: async () => (await terminateEntitlement(context, tx, entitlement, said)).events,
    }));
  }

  async function piece(tx: Tx, order: BulkOrder, targets: readonly Target[]): Promise<Told<Outcome[]>> {
    const found = await find(tx, order, [...new Set(targets.flatMap(({ id }) => id ?? []))]);
    const events: ServiceEvent[] = [];
    const ended = new Set<string>();
    const outcome: Outcome[] = [];
    for (const target of targets) {
      const { id } = target;
      const thing = id === undefined ? undefined : found.get(id);
      if (id === undefined) outcome.push({ ...target, status: 422, outcome: 'refused' });
      else if (thing === undefined) outcome.push({ ...target, status: 404, outcome: 'unknown' });
      else if (thing.terminated || ended.has(id)) {
        outcome.push({ ...target, status: order.strict ? 409 : 200, outcome: 'unchanged' });
      } else {
        events.push(...(await thing.end()));
        ended.add(id);
        outcome.push({ ...target, status: 200, outcome: 'terminated' });
      }
    }
    return { outcome, events };
  }

  return {
    async run(order) {
      const outcomes: Outcome[] = [];
      for (let first = 0; first < order.targets.length; first += PIECE) {
        const targets = order.targets.slice(first, first + PIECE);
        outcomes.push(...(await change((tx) => piece(tx, order, targets))));
      }
      return outcomes;
    },
    async start(order) {
      const job: Job = { ...order, id: store.nextId(), total: order.targets.length, done: 0, created: store.now() };
      await store.transaction((tx) => insertJob(tx, job));
      for (const listener of listeners) listener();
      return job;
    },
    async look(word) {
      const id = sealer.open(word);
      const found =
        id === undefined
          ? undefined
          : await store.read(async (tx) => {
              // First the job: what it says it has done has its outcomes by then.
              const job = await findJob(tx, id);
              return job && { job, outcomes: (await outcomesOf(tx, id)).slice(0, job.done) };
            });
      if (found !== undefined) return found;
      throw new Problem('not-found', 'there is no such termination; a finished one is kept for a day');
    },
    publicId: ({ id }) => sealer.seal(id),
    async step() {
      // Looked at first without a lock: nearly always there is nothing to do.
      if (!(await store.read(hasOpenJob))) {
        return store.transaction((tx) => forgetJobs(tx, store.now() - KEPT_MILLISECONDS));
      }
      return change(async (tx) => {
        const job = await takeOpenJob(tx);
        if (job === undefined) return { outcome: false, events: [] };
        const { outcome, events } = await piece(tx, job, job.targets.slice(job.done, job.done + PIECE));
        const done = job.done + outcome.length;
        await insertPiece(tx, job.id, job.done, outcome);
        await writeProgress(tx, job.id, done, done >= job.total ? store.now() : null);
        return { outcome: true, events };
      });
    },
    onStarted: (listener) => void listeners.push(listener),
  };
}

function mapValues<K, V, W>(map: ReadonlyMap<K, V>, make: (value: V) => W): Map<K, W> {
  return new Map([...map].map(([key, value]) => [key, make(value)]));
}
