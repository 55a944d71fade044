/**
 * One transaction in a simulated world: a virtual clock, a network that loses and delays, nodes that crash between any two
 * lines or stand still for a while, and a store that fails. The manager is the real one over a real store; what surrounds
 * it is driven by a seed, so that a schedule that fails can be replayed.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createSealer } from '../../src/ids.ts';
import { createDestinations } from '../../src/messaging/usecases/destinations.ts';
import { createEvents } from '../../src/messaging/usecases/events.ts';
import { createMember, type Member } from '../../src/nodes/membership.ts';
import { createOperator } from '../../src/operator/operator.ts';
import { Problem } from '../../src/problems.ts';
import type { News, Store } from '../../src/store/store.ts';
import { createTransactionPaths } from '../../src/transactions/addresses.views.ts';
import { isFinal, type Order, type Reply } from '../../src/transactions/protocol.ts';
import { findTransaction } from '../../src/transactions/queries/log.ts';
import type { TransactionView } from '../../src/transactions/transactions.ts';
import { createTransactionManager, type TransactionManager } from '../../src/transactions/usecases/manager.ts';
import type { Participants } from '../../src/transactions/usecases/participants.ts';
import type { ModelParticipant } from './participant-model.ts';
import { type Entered, violations } from './trace.ts';

export interface Clock {
  time: number;
}

/** What the network does to one request. A straggler arrives so much later, when its answer is of no use any more. */
export type Fate = 'through' | 'lost' | 'answer lost' | { readonly straggles: number };

export interface World {
  readonly store: Store;
  readonly clock: Clock;
  readonly participants: readonly ModelParticipant[];
  /** Every step of the manager and of the participants, in the order in which they were taken. */
  readonly trace: Entered[];
  /** Asked for every request. */
  readonly fateOf: (order: Order | 'look', uri: string) => Fate;
  /** Told of every point at which a node may crash; true: it crashes here. */
  readonly crashesAt: (point: string) => boolean;
  /** True: the node stands still here, until others have taken over and more; at most once in its life. */
  readonly pausesAt?: (point: string) => boolean;
  /** True: here a client asks another node to roll back; at most once. */
  readonly rollsBackAt?: (point: string) => boolean;
  /** What the store does instead of a write: nothing, or the write without saying so. */
  readonly failsAt?: (point: string) => 'not written' | 'not confirmed' | undefined;
}

/** Thrown through everything of a node that has crashed. */
class Crash extends Error {}

const isExpected = (error: unknown): boolean =>
  error instanceof Crash || (error instanceof Problem && error.code === 'store-unavailable');

interface Node {
  readonly member: Member;
  readonly manager: TransactionManager;
  readonly crashed: boolean;
  /** Resolves when it stands still. */
  readonly paused: Promise<void>;
  readonly isPaused: boolean;
  resume(): void;
}

interface Stage {
  readonly stragglers: { at: number; arrive: () => void }[];
  /** Of the nodes of this transaction alone: the store lives longer, and would call those of all before. */
  readonly listeners: ((news: News) => void)[];
  readonly nodes: Node[];
  /** Rolls back, by a node on which nothing fails. */
  rollBack?: () => Promise<void>;
  transaction?: number;
  round: number;
}

function startNode(world: World, stage: Stage): Node {
  const { store, clock, participants, fateOf, crashesAt, trace } = world;
  let crashed = false;
  let isPaused = false;
  let mayPause = true;
  const paused = Promise.withResolvers<void>();
  const resumed = Promise.withResolvers<void>();

  const point = (name: string): void => {
    if (!crashed && crashesAt(name)) crashed = true;
    if (crashed) throw new Crash(name);
  };

  /** A point at which the node may also stand still. A crash at a read has no effect that one at a write does not have. */
  async function gate(name: string): Promise<void> {
    point(name);
    await pause(name);
  }

  async function interlude(name: string): Promise<void> {
    const { rollBack } = stage;
    if (rollBack === undefined || !world.rollsBackAt?.(name)) return;
    delete stage.rollBack;
    await rollBack();
  }

  async function pause(name: string): Promise<void> {
    await interlude(name);
    if (!mayPause || stage.round > CALM_AFTER || !world.pausesAt?.(name)) return;
    mayPause = false;
    isPaused = true;
    paused.resolve();
    await resumed.promise;
    isPaused = false;
  }

  /** Whatever the manager writes of the transaction is a step of the trace, also when the node never learns of it. */
  async function traceManager(): Promise<void> {
    const { transaction: id } = stage;
    if (id === undefined) return;
    const state = (await store.read((tx) => findTransaction(tx, id)))?.state;
    const last = trace.findLast(({ who }) => who === 'manager')?.state;
    if (state !== undefined && state !== last) trace.push({ who: 'manager', state });
  }

  const unavailable = (): Problem => new Problem('store-unavailable', 'the store does not answer');

  /** The same store, with points around everything that is read or written. */
  const watched: Store = {
    ...store,
    now: () => clock.time,
    listen: (listener) => void stage.listeners.push(listener),
    announce: (news) => {
      for (const listener of stage.listeners) listener(news);
    },
    async read(job) {
      if (crashed) throw new Crash('read');
      const found = await store.read(job);
      await pause('after a read');
      return found;
    },
    async transaction(job) {
      await gate('before a write');
      const failure = world.failsAt?.('a write');
      if (failure === 'not written') throw unavailable();
      const outcome = await store.transaction(job);
      await traceManager();
      if (failure === 'not confirmed') throw unavailable();
      await gate('after a write');
      return outcome;
    },
  };

  const find = (uri: string): ModelParticipant =>
    participants.find((each) => each.uri === uri) ?? assert.fail(`nobody is at ${uri}`);

  async function exchange(
    uri: string,
    what: Order | 'look',
    act: (participant: ModelParticipant) => Reply,
  ): Promise<Reply> {
    await interlude(`before sending ${what}`);
    point(`before sending ${what}`);
    const fate = fateOf(what, uri);
    if (fate === 'lost') return { status: 0, detail: 'lost' };
    if (typeof fate === 'object') {
      stage.stragglers.push({ at: clock.time + fate.straggles, arrive: () => void act(find(uri)) });
      return { status: 0, detail: 'straggling' };
    }
    const reply = act(find(uri));
    await interlude(`after ${what} arrived`);
    point(`after ${what} arrived`);
    return fate === 'answer lost' ? { status: 0, detail: 'the answer was lost' } : reply;
  }

  const network: Participants = {
    order: (participant, _, order) => exchange(participant.uri, order, (each) => each.receive(order)),
    look: (participant) => exchange(participant.uri, 'look', (each) => each.look()),
  };

  const sealer = createSealer(store.secret);
  const events = createEvents(watched, createDestinations(watched));
  const member = createMember({
    store: watched,
    // Each node is at a place of its own: nobody takes over without having waited.
    place: () => ({ name: randomUUID(), process: 1 }),
    isOtherRunning: () => true,
    isAlone: false,
    monotonic: () => clock.time,
  });
  const manager = createTransactionManager({
    store: watched,
    membership: member,
    sealer,
    operator: createOperator(watched, events, sealer, (notice) => `/operator-notices/${notice}`),
    paths: createTransactionPaths(sealer),
    participants: network,
    maxTimeout: 3_600_000,
    keptMilliseconds: 86_400_000,
    monotonic: () => clock.time,
    onError: (error) => {
      if (!isExpected(error)) throw error;
    },
  });
  const node: Node = {
    member,
    manager,
    paused: paused.promise,
    get crashed() {
      return crashed;
    },
    get isPaused() {
      return isPaused;
    },
    resume: () => resumed.resolve(),
  };
  stage.nodes.push(node);
  return node;
}

export interface Told {
  /** What the client that asked for the commit was told, if it was told anything. */
  readonly answer: string | undefined;
}

const TIMEOUT = 30_000;
/** Longer than every pause, lease and margin there is. */
const ROUNDS = 200;
/** In the end everyone goes on. */
const CALM_AFTER = 60;
/** A node that stands still goes on after this many rounds: others have held it for dead by then, or not yet. */
const PAUSES = [2, 6, 14, 30];

/** Runs a transaction to its end, through crashes and recoveries. Gives how it ended. */
export async function runTransaction(world: World): Promise<{ view: TransactionView; told: Told; crashes: number }> {
  const stage: Stage = { stragglers: [], listeners: [], nodes: [], round: 0 };
  let crashes = 0;
  const { pausesAt: _, failsAt: __, rollsBackAt: ___, ...calm } = world;
  const first = startNode({ ...calm, crashesAt: () => false }, stage);
  const { transaction } = await first.manager.transactions.create(String(TIMEOUT));
  stage.transaction = transaction.id;
  world.trace.push({ who: 'manager', state: 'uncommitted' });
  await first.manager.transactions.register(
    transaction.id,
    world.participants.map(({ uri }) => ({ uri, kind: null })),
  );

  stage.rollBack = async () => {
    await first.manager.transactions.rollBack(transaction.id, 'a client asked for it', 0);
    await first.manager.coordinator.settled();
  };

  let node = startNode(world, stage);
  const still: { node: Node; until: number }[] = [];
  const duties: Promise<void>[] = [];
  let answer: string | undefined;
  const asked = ask(node, transaction.id).then((state) => {
    answer = state;
  });
  await Promise.race([asked, node.paused]);

  for (let round = 0; round < ROUNDS; round++) {
    stage.round = round;
    await Promise.race([node.manager.coordinator.settled(), node.paused]);
    const late = stage.stragglers.filter(({ at }) => at <= world.clock.time);
    for (const each of late) {
      stage.stragglers.splice(stage.stragglers.indexOf(each), 1);
      each.arrive();
    }
    if (node.isPaused) {
      still.push({ node, until: round + (PAUSES[(round + crashes) % PAUSES.length] ?? 1) });
      node = startNode(world, stage);
    }
    if (node.crashed) {
      crashes++;
      node = startNode(world, stage);
    }
    for (const each of still.filter(({ until }) => until <= round)) {
      still.splice(still.indexOf(each), 1);
      each.node.resume();
      await each.node.manager.coordinator.settled();
    }
    const view = still.length > 0 ? undefined : await first.manager.transactions.get(transaction.id);
    if (view !== undefined && isFinal(view.transaction.state) && stage.stragglers.length === 0) {
      await asked;
      await comeToRest(stage.nodes, duties, transaction.id);
      return { view, told: { answer }, crashes };
    }
    // Quick at first, when something happens at every step; later only the last stragglers are waited for.
    world.clock.time += round < 14 ? 700 : 5000;
    const { member, manager } = node;
    // As often as a node does so: every two seconds.
    const beats = round % 3 === 0 || round >= 14 ? [member.beat] : [];
    const upkeep = [...beats, member.watch, manager.upkeep.drive, manager.upkeep.findLost];
    for (const duty of upkeep) {
      const done = endured(duty());
      duties.push(done);
      await Promise.race([done, node.paused]);
    }
  }
  const stuck = await first.manager.transactions.get(transaction.id);
  return assert.fail(`it did not come to its end: ${JSON.stringify({ stuck, trace: world.trace })}`);
}

/** Nodes look once more at news of the end, and duties that stood still go on: all before the store may be closed. */
async function comeToRest(nodes: readonly Node[], duties: readonly Promise<void>[], id: number): Promise<void> {
  for (const node of nodes) node.resume();
  await Promise.all(duties);
  while (nodes.some(({ manager }) => manager.coordinator.isDriving(id))) {
    await Promise.all(nodes.map(({ manager }) => manager.coordinator.settled()));
  }
}

/** What a client is told that asks for the commit and does not wait. */
async function ask(node: Node, id: number): Promise<string | undefined> {
  try {
    const { transaction } = await node.manager.transactions.commit(id, 0);
    return isFinal(transaction.state) ? transaction.state : undefined;
  } catch (error) {
    if (!isExpected(error)) throw error;
    return undefined;
  }
}

async function endured(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isExpected(error)) throw error;
  }
}

/** What must hold when all is quiet, whatever happened on the way. */
export function checkAgreement({ participants, trace }: World, { transaction }: TransactionView, told: Told): void {
  const forgetful = new Set(participants.filter(({ behaviour }) => behaviour === 'forgetful').map(({ uri }) => uri));
  const options = { forgetful, participants: participants.map(({ uri }) => uri) };
  assert.deepEqual(violations(trace, options), [], JSON.stringify(trace));
  const left = participants.filter(({ state }) => state === 'prepared');
  assert.deepEqual(left, [], `${left.map(({ uri }) => uri).join(', ')} is left prepared`);
  const committed = participants.filter(({ state }) => state === 'committed');
  if (transaction.state !== 'committed') assert.deepEqual(committed, [], `${transaction.state}, but someone committed`);
  else assert.ok(participants.every(({ state }) => state === 'committed' || state === 'read-only'));
  assert.ok(['committed', 'rolled-back'].includes(transaction.state), `it ended as ${transaction.state}`);
  if (told.answer !== undefined) assert.equal(told.answer, transaction.state, 'the client was told something else');
}
