/** Messaging inside a transaction: messaging knows that there are transactions, but not what they are. */
import { Problem } from '../../problems.ts';
import type { Tx } from '../../store/store.ts';

export interface Enlister {
  /** Runs a job in one commit with the messages' registration as a participant. Throws when that is not possible. */
  inTransaction<T>(path: string, job: (tx: Tx, transaction: number) => Promise<T>): Promise<T>;
}

/** Of a message that nobody can be told about: the end of its transaction decides whether there is one. */
export const notYetDecided = (): Problem =>
  new Problem('conflict', 'a transaction that has not ended holds this id or link; try again when it has', {
    headers: { 'Retry-After': '1' },
  });

/** Where there is no transaction manager. */
export const NO_TRANSACTIONS: Enlister = {
  inTransaction: () => Promise.reject(new Problem('invalid', 'this service takes no messages in transactions')),
};
