/** Puts the messaging area together. */
import type { Area, Ground } from '../area.ts';
import { createMessaging, type Messaging } from './messaging.ts';
import { messagingRoutes } from './routes.ts';
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
    drain: () => messaging.waiters.stop(),
  };
}
