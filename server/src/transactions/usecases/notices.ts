/** What a person is told of transactions that cannot be finished or ended mixed (B8). */
import type { Action, NewNotice } from '../../operator/notice.ts';
import type { TransactionState } from '../protocol.ts';
import type { Participant, Transaction } from '../transaction.ts';

export interface Notices {
  /** Decided, but not everyone has confirmed after several tries. */
  stuck(transaction: Transaction, members: readonly Participant[]): NewNotice;
  heuristic(id: number, members: readonly Participant[], outcome: TransactionState): NewNotice;
}

export interface NoticeAddresses {
  transactionPath(transaction: number): string;
  actionsFor(transaction: number, participants: readonly Participant[]): readonly Action[];
}

export function createNotices({ transactionPath, actionsFor }: NoticeAddresses): Notices {
  return {
    stuck({ id, state }, members) {
      const stuck = members.filter(({ nextTry }) => nextTry !== null);
      const errors = stuck.map(({ uri, lastError }) => `${uri}: ${lastError ?? 'no answer'}`);
      return {
        kind: 'transaction.stuck',
        subject: transactionPath(id),
        title: 'A transaction cannot be finished',
        detail: `It is decided (${state}), but these participants have not confirmed: ${errors.join('; ')}. Waypost goes on trying.`,
        actions: actionsFor(id, stuck),
      };
    },
    heuristic(id, members, outcome) {
      const odd = members.filter(({ state }) => state.startsWith('heuristic') || state === 'hazard');
      const said = odd.map(({ uri, state }) => `${uri} is ${state}`);
      return {
        kind: 'transaction.heuristic',
        subject: transactionPath(id),
        title: `A transaction ended as ${outcome}`,
        detail: `Not all participants did what was decided: ${said.join(', ')}.`,
        actions: [],
      };
    },
  };
}
