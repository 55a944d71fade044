/** The forwarding area: subscribers, and the engine that serves them. */
import type { Outbound } from '../http/outbound/outbound.ts';
import type { Sealer } from '../ids.ts';
import { createBurial } from '../messaging/usecases/burial.ts';
import type { Membership } from '../nodes/membership.ts';
import type { Operator } from '../operator/operator.ts';
import type { Store } from '../store/store.ts';
import type { NoticeMaker } from './notice-maker.ts';
import { handOverAll } from './queries/serving.ts';
import { createDelivery, type DeliveryParts } from './usecases/delivery.ts';
import { createEngine } from './usecases/engine.ts';
import { createGate } from './usecases/gate.ts';
import { createNotes, noteRunner } from './usecases/notes.ts';
import { createPipeline } from './usecases/pipeline.ts';
import { createQueueSource } from './usecases/queue-source.ts';
import { createRoster } from './usecases/roster.ts';
import { Interrupted } from './usecases/runner.ts';
import { createShare } from './usecases/share.ts';
import { createSubscribers, type Subscribers } from './usecases/subscribers.ts';
import { createTopicSource } from './usecases/topic-source.ts';
import { createTopicWindow } from './usecases/topic-window.ts';

export interface ForwardingParts {
  readonly store: Store;
  readonly membership: Membership;
  readonly sealer: Sealer;
  readonly operator: Operator;
  readonly outbound: Outbound;
  readonly notices: NoticeMaker;
  /** How messages look on their way. */
  readonly message: DeliveryParts['message'];
  readonly batch: DeliveryParts['batch'];
  readonly fields: DeliveryParts['fields'];
  readonly urlOf: DeliveryParts['urlOf'];
  readonly pathOf: DeliveryParts['pathOf'];
  /** Milliseconds for which a message is tried. */
  readonly patience: number;
  readonly maxSubscribers: number;
  readonly onError: (error: unknown) => void;
}

export interface Forwarding {
  readonly subscribers: Subscribers;
  /** Resolves when this node serves what is free. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** What may be on its way at once. The outbound pool has more connections to a host, so that nobody waits inside it. */
const LIMITS = { perHost: 256, calls: 4096, retries: 256, bytes: 64 * 1024 * 1024 };
const LOOK_EVERY = 1000;
/** How exactly the time of a retry or of a batch is kept. */
const TICK = 50;
const DRAIN = 5000;

export function createForwarding(parts: ForwardingParts): Forwarding {
  const { store, membership, operator, outbound, urlOf, pathOf, onError } = parts;
  const roster = createRoster();
  let calls = new AbortController();
  let stopping = false;
  let hasStopped = false;
  /** This node as long as it serves, which ends before it leaves. */
  const node = {
    get id() {
      return membership.id;
    },
    get isAlive() {
      return membership.isAlive && !hasStopped;
    },
    get count() {
      return membership.count;
    },
  };

  const notes = createNotes(store, node);

  function breakOff(): void {
    calls.abort();
    calls = new AbortController();
  }

  const deliver = createDelivery({
    outbound,
    gate: createGate(LIMITS),
    now: store.now,
    message: parts.message,
    batch: parts.batch,
    fields: parts.fields,
    urlOf,
    pathOf,
    mayCall(runner) {
      if (stopping || !node.isAlive || roster.get(runner.id) !== runner) throw new Interrupted('not now');
    },
    signal: () => calls.signal,
    async noteLink(runner, link, message) {
      runner.subscriber.link = link;
      runner.subscriber.linkFor = message;
      await noteRunner(notes, runner);
    },
  });
  const engine = createEngine({
    store,
    node,
    roster,
    share: createShare(store, node, roster),
    pipeline: createPipeline({
      store,
      notes,
      deliver,
      sources: {
        topic: createTopicSource(store, node, createTopicWindow(store), notes),
        queue: createQueueSource(store, node, createBurial(store)),
      },
      operator,
      notices: parts.notices,
      patience: parts.patience,
    }),
    pathOf,
    breakOff,
    onError,
  });
  const subscribers = createSubscribers({
    ...{ store, sealer: parts.sealer, outbound, node, engine, urlOf },
    most: parts.maxSubscribers,
  });

  const timers = new Set<NodeJS.Timeout>();
  const rounds = new Set<Promise<void>>();

  /** Repeats a task with pauses in between. */
  function every(milliseconds: number, task: () => Promise<void>): void {
    if (stopping) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      const round: Promise<void> = task()
        .catch(onError)
        .finally(() => {
          rounds.delete(round);
          every(milliseconds, task);
        });
      rounds.add(round);
    }, milliseconds);
    timers.add(timer);
  }

  membership.onLost(engine.abandon);
  let wasAlive = true;

  /** While others may hold this node for dead, nothing is sent; if they did not, it goes on where it was. */
  function tick(): void {
    if (membership.isAlive) engine.runDue();
    else if (wasAlive) breakOff();
    wasAlive = membership.isAlive;
  }

  return {
    subscribers,
    async start() {
      await engine.look();
      every(LOOK_EVERY, engine.look);
      timers.add(setInterval(tick, TICK));
    },
    async stop() {
      stopping = true;
      for (const timer of timers) clearTimeout(timer);
      await Promise.all(rounds);
      await engine.stop(DRAIN);
      hasStopped = true;
      const owner = membership.id;
      await store.transaction((tx) => handOverAll(tx, owner));
    },
  };
}
