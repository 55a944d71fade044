/** Puts the messaging area together. */
import type { Area, Ground } from '../area.ts';
import { createMessaging, type Messaging } from './messaging.ts';
import { messagingRoutes } from './routes.ts';
import { SYSTEM_TOPICS } from './system-topics.ts';
import type { Enlister } from './usecases/enlisting.ts';

/** `enlister` lets messages take part in transactions. */
export function createMessagingArea(
  { options, store, sealer }: Ground,
  enlister: Enlister,
): Area & { readonly messaging: Messaging } {
  const messaging = createMessaging(store, sealer, {
    autoCreate: options['auto-create'],
    maxWaiting: options['max-waiting'],
    rememberIds: Math.ceil(options['remember-ids'] * 1000),
    onceLifetime: options['once-lifetime'] * 1000,
    enlister,
  });
  return {
    messaging,
    routes: messagingRoutes(messaging, { maxWait: options['max-wait'], maxBatch: options['max-batch'] }),
    async start() {
      // They are there to be read and subscribed to before anything happens, and no look at them makes them.
      for (const name of SYSTEM_TOPICS) await messaging.destinations.ensure('topic', name);
    },
    drain: () => messaging.waiters.stop(),
  };
}
