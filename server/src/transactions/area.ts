/** Puts the transactions area together. */
import type { Area, Ground } from '../area.ts';
import type { Operator } from '../operator/operator.ts';
import { createTransactionPaths } from './addresses.views.ts';
import { transactionRoutes } from './routes.ts';
import { createTransactionManager } from './usecases/manager.ts';
import { createTransactionMessages, type TransactionMessages } from './usecases/messages.ts';
import { createParticipants, type LocalParticipant } from './usecases/participants.ts';

/** Messages as a participant: made first, because messaging enlists them. */
export function createEnlister({ store, sealer }: Ground): TransactionMessages {
  return createTransactionMessages(store, createTransactionPaths(sealer));
}

/** `locals` are the participants of this service. */
export function createTransactionArea(ground: Ground, operator: Operator, locals: readonly LocalParticipant[]): Area {
  const { options, log, store, membership, sealer, outbound } = ground;
  const { transactions, upkeep, drain, stop } = createTransactionManager({
    ...{ store, membership, sealer, operator },
    paths: createTransactionPaths(sealer),
    participants: createParticipants(locals, outbound),
    maxTimeout: options['max-timeout'] * 1000,
    keptMilliseconds: options['keep-transactions'] * 1000,
    onError: (error) => log.error({ err: error }, 'a transaction could not be driven'),
  });
  return {
    routes: transactionRoutes(transactions, {
      outbound,
      isLocalParticipant: (path) => locals.some((local) => local.matches(path)),
    }),
    duties: {
      'drive transactions': upkeep.drive,
      'find lost transactions': upkeep.findLost,
      'forget finished transactions': upkeep.forget,
    },
    drain,
    stop,
  };
}
