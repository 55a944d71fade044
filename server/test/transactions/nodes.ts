/** Nodes with a transaction manager each, on one store, that tests move step by step. */

import type { Engine } from '../../../testing/engines.ts';
import { createSealer } from '../../src/ids.ts';
import { createDestinations } from '../../src/messaging/usecases/destinations.ts';
import { createEvents } from '../../src/messaging/usecases/events.ts';
import { type Ground, openGround, type TestNode } from '../../src/nodes/members.fixtures.ts';
import { createOperator, type Operator } from '../../src/operator/operator.ts';
import type { Store } from '../../src/store/store.ts';
import { createTransactionPaths } from '../../src/transactions/addresses.views.ts';
import type { Order, Reply } from '../../src/transactions/protocol.ts';
import type { TransactionView } from '../../src/transactions/transactions.ts';
import { createTransactionManager, type TransactionManager } from '../../src/transactions/usecases/manager.ts';
import type { Participants } from '../../src/transactions/usecases/participants.ts';

export interface ManagerNode extends TestNode {
  readonly manager: TransactionManager;
  readonly operator: Operator;
}

export interface ManagerGround extends Ground {
  /** `seen` is the store as this node sees it. */
  start(order: Participants['order'], seen?: Partial<Store>): ManagerNode;
  /** A transaction with a participant at each of these addresses. */
  begin(node: ManagerNode, uris: readonly string[]): Promise<number>;
  view(id: number): Promise<TransactionView>;
}

export async function openManagerGround(engine: Engine): Promise<ManagerGround> {
  const ground = await openGround(engine);
  const sealer = createSealer(ground.store.secret);
  let first: ManagerNode | undefined;

  return {
    ...ground,
    start(order, seen = {}) {
      const store = { ...ground.store, ...seen };
      const node = ground.node();
      const events = createEvents(store, createDestinations(store));
      const operator = createOperator(store, events, sealer, (id) => `/operator-notices/${id}`);
      const manager = createTransactionManager({
        ...{ store, sealer, operator },
        membership: node.member,
        paths: createTransactionPaths(sealer),
        participants: { order, look: async () => ({ status: 0, detail: 'nobody looks' }) },
        maxTimeout: 3_600_000,
        keptMilliseconds: 86_400_000,
        monotonic: () => ground.clock.monotonic,
        onError: () => {},
      });
      const started = Object.assign(node, { manager, operator });
      first ??= started;
      return started;
    },
    async begin({ manager: { transactions } }, uris) {
      const { id } = (await transactions.create('60000')).transaction;
      await transactions.register(
        id,
        uris.map((uri) => ({ uri, kind: null })),
      );
      return id;
    },
    view(id) {
      if (first === undefined) throw new Error('no node was started');
      return first.manager.transactions.get(id);
    },
  };
}

/** A participant whose answers to one order the test gives, one by one; to all else it says yes. */
export function answeredByHand(order: Order): {
  readonly order: Participants['order'];
  /** Resolves when it is being asked; answers when it is given a reply. */
  next(): Promise<(reply: Reply) => void>;
} {
  const waiting: ((reply: Reply) => void)[] = [];
  let arrived = Promise.withResolvers<void>();
  return {
    async order(_participant, _transaction, given) {
      if (given !== order) return { status: 200, state: given };
      return new Promise<Reply>((resolve) => {
        waiting.push(resolve);
        arrived.resolve();
      });
    },
    async next() {
      while (waiting.length === 0) await arrived.promise;
      const [answer] = waiting.splice(0, 1) as [(reply: Reply) => void];
      if (waiting.length === 0) arrived = Promise.withResolvers();
      return answer;
    },
  };
}
