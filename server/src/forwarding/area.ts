/** Puts the forwarding area together. */
import type { Area, Ground } from '../area.ts';
import type { Messaging } from '../messaging/messaging.ts';
import type { Operator } from '../operator/operator.ts';
import { createForwarding } from './forwarding.ts';
import { forwardingRoutes } from './routes.ts';
import { createNotices } from './views/notices.ts';
import { createOutgoing } from './views/outgoing.ts';

export function createForwardingArea(ground: Ground, messaging: Messaging, operator: Operator): Area {
  const { options, log, store, membership, sealer, outbound, ownAddress } = ground;
  const forwarding = createForwarding({
    ...{ store, membership, sealer, operator, outbound },
    ...createOutgoing({ base: () => options['base-url'] ?? ownAddress(), publicId: messaging.publicId }),
    notices: createNotices(({ id }) => sealer.seal(id)),
    fields: [['User-Agent', `Waypost/${ground.version}`]],
    urlOf: (href) => (href.startsWith('/') ? ownAddress() + href : href),
    pathOf: (url) => ground.localPath(url, ownAddress()),
    patience: options['forward-patience'] * 1000,
    maxSubscribers: options['max-subscribers'],
    onError: (error) => log.error({ err: error }, 'forwarding failed'),
  });

  /** The configured URL is a subscriber like any other, of the topic to which all notices go. */
  async function subscribeOperator(): Promise<void> {
    const href = options['operator-url'];
    if (href === undefined) return;
    const refused = await outbound.check(href);
    if (refused !== undefined) log.warn({ reason: refused.message }, 'the operator URL may not be called');
    const topic = await messaging.destinations.ensure('topic', 'operator-notices');
    await forwarding.subscribers.configure(topic, { rel: 'post-message', href, secret: null });
  }

  return {
    routes: forwardingRoutes(forwarding, messaging),
    async start() {
      await forwarding.start();
      await subscribeOperator();
    },
    stop: () => forwarding.stop(),
  };
}
