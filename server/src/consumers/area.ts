/** Puts the consumers area together. */
import type { Area, Ground } from '../area.ts';
import { createTerminator } from '../duties/terminate.ts';
import type { Messaging } from '../messaging/messaging.ts';
import { createConsumerArea as createUseCases } from './consumers.ts';
import { consumerRoutes } from './routes.ts';
import { addresses } from './views/consumers.ts';

const TERMINATE = 'terminate in bulk';

export function createConsumersArea({ options, store, sealer }: Ground, { events }: Messaging): Area {
  const consumers = createUseCases(store, events, sealer, addresses);
  return {
    routes: consumerRoutes(consumers, { maxBatch: options['max-batch'] }),
    duties: { [TERMINATE]: createTerminator(consumers) },
    async start(wake) {
      consumers.bulk.onStarted(() => wake(TERMINATE));
    },
  };
}
