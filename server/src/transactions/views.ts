/** Transactions and participants as documents. */
import type { Document, Field } from '../http/document.ts';
import type { Link } from '../http/links.ts';
import { timeOf } from '../http/times.ts';
import { paths } from '../paths.ts';
import { isFinal, isRunning } from './protocol.ts';
import type { Participant, Transaction } from './transaction.ts';

export const TRANSACTION_TYPE = 'application/tx+xml';
export const TRANSACTION_TYPES = [TRANSACTION_TYPE, 'application/json'] as const;

/** Makes words of numbers, for addresses. */
export type WordOf = (id: number) => string;

function transactionLinks({ id, state }: Transaction, wordOf: WordOf): Link[] {
  const transaction = wordOf(id);
  const self = paths.transaction.href({ transaction });
  return [
    { rel: 'self', href: self },
    { rel: 'participants', href: paths.participants.href({ transaction }) },
    // What ends it is posted to the transaction itself, with the state that is wanted.
    ...(state === 'uncommitted' ? [{ rel: 'commit', href: self, method: 'POST', type: TRANSACTION_TYPE }] : []),
    ...(state === 'uncommitted' || state === 'preparing'
      ? [{ rel: 'rollback', href: self, method: 'POST', type: TRANSACTION_TYPE }]
      : []),
    ...(isRunning(state)
      ? [{ rel: 'retry-now', href: paths.retryTransaction.href({ transaction }), method: 'POST' }]
      : []),
  ];
}

/** What is told of a transaction in any form. */
function transactionFields({
  timeout,
  state,
  created,
  deadline,
  decided,
  finished,
  reason,
}: Transaction): Record<string, Field> {
  return {
    timeout,
    state,
    created: timeOf(created),
    expires: isFinal(state) ? undefined : timeOf(deadline),
    decided: decided === null ? undefined : timeOf(decided),
    finished: finished === null ? undefined : timeOf(finished),
    reason: reason ?? undefined,
  };
}

export function transactionDocument(
  transaction: Transaction,
  participants: readonly Participant[],
  wordOf: WordOf,
): Document {
  const tries = participants.reduce((sum, { tries }) => sum + tries, participants.length);
  return {
    name: 'transaction',
    fields: transactionFields(transaction),
    attributes: ['timeout', 'state', 'created', 'expires', 'decided', 'finished', 'reason'],
    links: transactionLinks(transaction, wordOf),
    items: participants.map((participant) => participantDocument(transaction, participant, wordOf)),
    types: TRANSACTION_TYPES,
    version: `${transaction.epoch}.${transaction.state}.${tries}`,
  };
}

export function transactionItem(transaction: Transaction, wordOf: WordOf): Document {
  return {
    name: 'transaction',
    fields: transactionFields(transaction),
    attributes: ['timeout', 'state', 'created', 'expires', 'decided', 'finished', 'reason'],
    links: transactionLinks(transaction, wordOf),
  };
}

export function participantDocument(transaction: Transaction, participant: Participant, wordOf: WordOf): Document {
  const { kind, state, tries, nextTry, lastError, resolved, uri } = participant;
  const parameters = { transaction: wordOf(transaction.id), participant: wordOf(participant.id) };
  const isOutstanding = ['registered', 'asked', 'prepared'].includes(state);
  const canResolve = isOutstanding && (transaction.state === 'committing' || transaction.state === 'rolling-back');
  return {
    name: 'participant',
    fields: {
      kind: kind ?? undefined,
      // The initial state has no name in the interface.
      state: state === 'registered' || state === 'asked' ? undefined : state,
      tries,
      'next-try': nextTry === null ? undefined : timeOf(nextTry),
      'last-error': lastError ?? undefined,
      resolved: resolved === null ? undefined : { ...resolved, at: timeOf(resolved.at) },
    },
    attributes: ['kind', 'state', 'tries', 'next-try'],
    links: [
      { rel: 'self', href: paths.participant.href(parameters) },
      { rel: 'participant', href: uri },
      {
        rel: 'transaction',
        href: paths.transaction.href({ transaction: parameters.transaction }),
        type: TRANSACTION_TYPE,
      },
      ...(canResolve ? [{ rel: 'resolve', href: paths.resolveParticipant.href(parameters), method: 'POST' }] : []),
    ],
    types: ['application/json', 'application/xml'],
  };
}
