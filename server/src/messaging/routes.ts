/** HTTP of the messaging area. */
import type { Route } from '../http/operation.ts';
import type { Messaging } from './messaging.ts';
import { destinationRoutes } from './routes/destinations.ts';
import { messageRoutes } from './routes/messages.ts';
import { type ReceivingRouteOptions, receivingRoutes } from './routes/receiving.ts';

export type MessagingRouteOptions = ReceivingRouteOptions;

export function messagingRoutes(messaging: Messaging, options: MessagingRouteOptions): Route[] {
  return [...destinationRoutes(messaging), ...receivingRoutes(messaging, options), ...messageRoutes(messaging)];
}
