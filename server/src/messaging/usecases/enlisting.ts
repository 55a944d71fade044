/** Messaging inside a transaction: messaging knows that there are transactions, but not what they are. */
import { Problem } from '../../problems.ts';
import type { Tx } from '../../store/store.ts';

export interface Enlister {
  /** Runs a job in one commit with the messages' registration as a participant. Throws when that is not possible. */
  inTransaction<T>(path: string, job: (tx: Tx, transaction: number) => Promise<T>): Promise<T>;
}

/** Where there is no transaction manager. */
export const NO_TRANSACTIONS: Enlister = {
  inTransaction: () => Promise.reject(new Problem('invalid', 'this service takes no messages in transactions')),
};
