/**
 * Messages as a participant of a transaction (B13): what is posted in it becomes visible when it commits, what is taken in
 * it is acknowledged then. It is driven like any other participant, in process.
 */
import type { Enlister } from '../../messaging/usecases/enlisting.ts';
import type { Action } from '../../operator/notice.ts';
import { Problem } from '../../problems.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { Order, Reply } from '../protocol.ts';
import { destinationsExist, holdsAnything, releaseAll, undoAll } from '../queries/held.ts';
import { insertParticipant, shareTransaction } from '../queries/log.ts';
import type { Participant, Transaction } from '../transaction.ts';
import { checkOpen } from '../transactions.ts';
import type { LocalParticipant } from './participants.ts';

export interface TransactionMessages extends Enlister, LocalParticipant {}

export interface TransactionPaths {
  /** The number of a transaction of this service, from its path. Null: it would be one of this service, but never was. */
  transactionOf(path: string): number | null | undefined;
  transactionPath(transaction: number): string;
  /** The links by which an operator acts on a transaction and on participants that are stuck. */
  actionsFor(transaction: number, participants: readonly Pick<Participant, 'id' | 'uri'>[]): readonly Action[];
  /** The path under which the messages of a transaction are its participant. */
  messagesPath(transaction: number): string;
}

const unknown = (): Problem => new Problem('not-found', 'there is no such transaction');

export function createTransactionMessages(
  store: Store,
  { transactionOf, messagesPath }: Pick<TransactionPaths, 'transactionOf' | 'messagesPath'>,
): TransactionMessages {
  async function prepare(tx: Tx, transaction: Transaction | undefined): Promise<Reply> {
    if (transaction === undefined || transaction.state !== 'preparing' || transaction.deadline <= store.now()) {
      return { status: 409, detail: 'the transaction is not preparing' };
    }
    if (await destinationsExist(tx, transaction.id)) return { status: 204 };
    return { status: 409, detail: 'a destination of a message in the transaction was deleted' };
  }

  return {
    matches: (path) => path.endsWith('/messages') && path.startsWith('/transaction-manager/'),
    async order(_, id, order: Order) {
      const { reply, arrived } = await store.transaction(async (tx) => {
        const transaction = await shareTransaction(tx, id);
        const state = transaction?.state;
        const nothing = new Map<number, number>();
        if (order === 'prepared') return { reply: await prepare(tx, transaction), arrived: nothing };
        if (order === 'committed' && state !== 'committing' && state !== 'committed') {
          return { reply: { status: 409, detail: 'no commit is decided' }, arrived: nothing };
        }
        if (order === 'rolled-back' && state !== 'rolling-back' && state !== 'rolled-back' && state !== undefined) {
          return { reply: { status: 409, detail: 'no rollback is decided' }, arrived: nothing };
        }
        const moved = order === 'committed' ? await releaseAll(tx, id, store.now()) : await undoAll(tx, id);
        return { reply: { status: 204 }, arrived: moved };
      });
      if (arrived.size > 0) store.announce({ arrived });
      return reply;
    },
    async look(_, id) {
      return store.read(async (tx) => {
        const state = (await shareTransaction(tx, id))?.state;
        const isDone = !(await holdsAnything(tx, id));
        if (state === 'committed' || (state === 'committing' && isDone)) return { status: 200, state: 'committed' };
        if (state === 'rolled-back' || (state === 'rolling-back' && isDone))
          return { status: 200, state: 'rolled-back' };
        return state === 'committing' ? { status: 200, state: 'prepared' } : { status: 200 };
      });
    },
    async inTransaction(path, job) {
      const id = transactionOf(path);
      if (id === undefined) {
        throw new Problem('invalid', 'messages can take part in transactions of this service only', {
          errors: [{ header: 'Link', detail: 'rel="transaction" must name a transaction of this service' }],
        });
      }
      if (id === null) throw unknown();
      const participant = { id: store.nextId(), uri: messagesPath(id), kind: 'messages' };
      return store.transaction(async (tx) => {
        const transaction = await shareTransaction(tx, id);
        if (transaction === undefined) throw unknown();
        checkOpen(transaction, store.now());
        const outcome = await job(tx, id);
        // Nothing taken, nothing posted: then there is nothing to take part with.
        if (await holdsAnything(tx, id)) await insertParticipant(tx, id, participant);
        return outcome;
      });
    },
  };
}
