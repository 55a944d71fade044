/**
 * One transaction in a simulated world: a virtual clock, a network that loses and delays, and nodes that crash between any
 * two lines. The manager is the real one over a real store; what surrounds it is driven by a seed, so that a schedule that
 * fails can be replayed.
 */
import assert from 'node:assert/strict';
import { createSealer } from '../../src/ids.ts';
import { createDestinations } from '../../src/messaging/usecases/destinations.ts';
import { createEvents } from '../../src/messaging/usecases/events.ts';
import { createOperator } from '../../src/operator/operator.ts';
import type { Store } from '../../src/store/store.ts';
import { createTransactionPaths } from '../../src/transactions/addresses.views.ts';
import { isFinal, type Order, type Reply } from '../../src/transactions/protocol.ts';
import type { TransactionView } from '../../src/transactions/transactions.ts';
import { createTransactionManager, type TransactionManager } from '../../src/transactions/usecases/manager.ts';
import type { Participants } from '../../src/transactions/usecases/participants.ts';
import { forbiddenSteps, type ModelParticipant } from './participant-model.ts';

export interface Clock {
  time: number;
}

/** What the network does to one request. A straggler arrives so much later, when its answer is of no use any more. */
export type Fate = 'through' | 'lost' | 'answer lost' | { readonly straggles: number };

export interface World {
  readonly store: Store;
  readonly clock: Clock;
  readonly participants: readonly ModelParticipant[];
  /** Asked for every request. */
  readonly fateOf: (order: Order | 'look', uri: string) => Fate;
  /** Told of every point at which a node may crash; true: it crashes here. */
  readonly crashesAt: (point: string) => boolean;
}

/** Thrown through everything of a node that has crashed. */
class Crash extends Error {}

interface Node {
  readonly manager: TransactionManager;
  crashed: boolean;
}

function startNode(world: World, stragglers: { at: number; arrive: () => void }[]): Node {
  const { store, clock, participants, fateOf, crashesAt } = world;
  const node: { crashed: boolean } = { crashed: false };
  const point = (name: string): void => {
    if (!node.crashed && crashesAt(name)) node.crashed = true;
    if (node.crashed) throw new Crash(name);
  };

  /** The same store, with a point before and after everything that is written. */
  const watched: Store = {
    ...store,
    now: () => clock.time,
    read: (job) => (node.crashed ? Promise.reject(new Crash('read')) : store.read(job)),
    async transaction(job) {
      point('before a write');
      const outcome = await store.transaction(job);
      point('after a write');
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
    point(`before sending ${what}`);
    const fate = fateOf(what, uri);
    if (fate === 'lost') return { status: 0, detail: 'lost' };
    if (typeof fate === 'object') {
      stragglers.push({ at: clock.time + fate.straggles, arrive: () => void act(find(uri)) });
      return { status: 0, detail: 'straggling' };
    }
    const reply = act(find(uri));
    point(`after ${what} arrived`);
    return fate === 'answer lost' ? { status: 0, detail: 'the answer was lost' } : reply;
  }

  const network: Participants = {
    order: (participant, _, order) => exchange(participant.uri, order, (each) => each.receive(order)),
    look: (participant) => exchange(participant.uri, 'look', (each) => each.look()),
  };

  const sealer = createSealer(store.secret);
  const events = createEvents(watched, createDestinations(watched));
  const manager = createTransactionManager({
    store: watched,
    sealer,
    operator: createOperator(watched, events, sealer, (notice) => `/operator-notices/${notice}`),
    paths: createTransactionPaths(sealer),
    participants: network,
    maxTimeout: 3_600_000,
    keptMilliseconds: 86_400_000,
    onError: (error) => {
      if (!(error instanceof Crash)) throw error;
    },
  });
  return Object.assign(node, { manager });
}

export interface Told {
  /** What the client that asked for the commit was told, if it was told anything. */
  readonly answer: string | undefined;
}

const TIMEOUT = 30_000;
/** Longer than every pause, lease and margin there is. */
const ROUNDS = 200;

/** Runs a transaction to its end, through crashes and recoveries. Gives how it ended. */
export async function runTransaction(world: World): Promise<{ view: TransactionView; told: Told; crashes: number }> {
  const stragglers: { at: number; arrive: () => void }[] = [];
  let crashes = 0;
  let node = startNode({ ...world, crashesAt: () => false }, stragglers);
  const { transaction } = await node.manager.transactions.create(String(TIMEOUT));
  await node.manager.transactions.register(
    transaction.id,
    world.participants.map(({ uri }) => ({ uri, kind: null })),
  );

  node = startNode(world, stragglers);
  let answer: string | undefined;
  try {
    const { transaction: ended } = await node.manager.transactions.commit(transaction.id, 0);
    if (isFinal(ended.state)) answer = ended.state;
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
  }

  for (let round = 0; round < ROUNDS; round++) {
    await node.manager.coordinator.settled();
    const late = stragglers.filter(({ at }) => at <= world.clock.time);
    for (const each of late) {
      stragglers.splice(stragglers.indexOf(each), 1);
      each.arrive();
    }
    if (node.crashed) {
      crashes++;
      node = startNode(world, stragglers);
    }
    const view = await world.store.read(async () => undefined).then(() => readView(node, transaction.id));
    if (view !== undefined && isFinal(view.transaction.state) && stragglers.length === 0) {
      return { view, told: { answer }, crashes };
    }
    // Quick at first, when something happens at every step; later only the last stragglers are waited for.
    world.clock.time += round < 12 ? 700 : 5000;
    try {
      await node.manager.upkeep.drive();
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
    }
  }
  return assert.fail('the transaction did not come to its end');
}

async function readView(node: Node, id: number): Promise<TransactionView | undefined> {
  try {
    return await node.manager.transactions.get(id);
  } catch (error) {
    if (error instanceof Crash) return undefined;
    throw error;
  }
}

/** What must hold when all is quiet, whatever happened on the way. */
export function checkAgreement(
  participants: readonly ModelParticipant[],
  { transaction }: TransactionView,
  told: Told,
): void {
  for (const participant of participants) {
    assert.deepEqual(forbiddenSteps(participant), [], `${participant.uri} took a step that is not allowed`);
    assert.notEqual(participant.state, 'prepared', `${participant.uri} is left prepared`);
  }
  const committed = participants.filter(({ state }) => state === 'committed');
  const rolledBack = participants.filter(({ state }) => state === 'rolled-back');
  assert.ok(committed.length === 0 || rolledBack.length === 0, 'some committed and some rolled back');
  if (transaction.state === 'committed') assert.deepEqual(rolledBack, []);
  else assert.deepEqual(committed, [], `${transaction.state}, but someone committed`);
  assert.ok(['committed', 'rolled-back'].includes(transaction.state), `it ended as ${transaction.state}`);
  if (told.answer !== undefined) assert.equal(told.answer, transaction.state, 'the client was told something else');
}
