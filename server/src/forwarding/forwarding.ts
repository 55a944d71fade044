/** The forwarding area: subscribers, and the engine that serves them. */
import type { Outbound } from '../http/outbound/outbound.ts';
import type { Sealer } from '../ids.ts';
import { createBurial } from '../messaging/usecases/burial.ts';
import type { Operator } from '../operator/operator.ts';
import type { Store } from '../store/store.ts';
import type { NoticeMaker } from './notice-maker.ts';
import { createDelivery, type DeliveryParts } from './usecases/delivery.ts';
import { createEngine } from './usecases/engine.ts';
import { createGate } from './usecases/gate.ts';
import { BEAT_EVERY, createNode } from './usecases/node.ts';
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
  /** Names the machine and port on which this process alone can listen, so that its successor knows it for dead. */
  readonly place: () => string;
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
  const { store, operator, outbound, urlOf, pathOf, onError } = parts;
  const node = createNode(store, parts.place);
  const roster = createRoster();
  const notes = createNotes(store, node);
  let calls = new AbortController();
  let stopping = false;

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
    breakOff() {
      calls.abort();
      calls = new AbortController();
    },
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

  async function beat(): Promise<void> {
    if (await node.beat()) engine.abandon();
  }

  return {
    subscribers,
    async start() {
      await node.beat();
      await engine.look();
      every(BEAT_EVERY, beat);
      every(LOOK_EVERY, engine.look);
      const tick = setInterval(() => {
        // Others may serve by now what this node cannot say it is alive for.
        if (!node.isAlive && roster.size > 0) engine.abandon();
        engine.runDue();
      }, TICK);
      timers.add(tick);
    },
    async stop() {
      stopping = true;
      for (const timer of timers) clearTimeout(timer);
      await Promise.all(rounds);
      await engine.stop(DRAIN);
      await node.retire();
    },
  };
}
