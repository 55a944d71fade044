/** Addresses of transactions, made and read back. */
import type { Sealer } from '../ids.ts';
import { paths } from '../paths.ts';
import type { TransactionPaths } from './usecases/messages.ts';

export function createTransactionPaths(sealer: Sealer): TransactionPaths {
  const prefix = paths.transaction.template.replace('{transaction}', '');
  return {
    transactionOf(path) {
      if (!path.startsWith(prefix)) return undefined;
      return sealer.open(path.slice(prefix.length)) ?? null;
    },
    transactionPath: (id) => paths.transaction.href({ transaction: sealer.seal(id) }),
    messagesPath: (id) => paths.transactionMessages.href({ transaction: sealer.seal(id) }),
    actionsFor(id, participants) {
      const transaction = sealer.seal(id);
      return [
        { rel: 'retry-now', href: paths.retryTransaction.href({ transaction }) },
        ...participants.map(({ id: participant, uri }) => ({
          rel: 'resolve',
          href: paths.resolveParticipant.href({ transaction, participant: sealer.seal(participant) }),
          title: uri,
        })),
      ];
    },
  };
}
