/** HTTP of the messaging area. */
import type { Route } from '../http/operation.ts';
import type { Messaging } from './messaging.ts';
import { clearingRoutes } from './routes/clearing.ts';
import type { MessagingRouteOptions } from './routes/common.ts';
import { destinationRoutes } from './routes/destinations.ts';
import { messageRoutes } from './routes/messages.ts';
import { postingRoutes } from './routes/posting.ts';
import { readingRoutes } from './routes/reading.ts';
import { receivingRoutes } from './routes/receiving.ts';

export function messagingRoutes(messaging: Messaging, options: MessagingRouteOptions): Route[] {
  return [
    ...destinationRoutes(messaging),
    ...postingRoutes(messaging, options),
    ...messageRoutes(messaging),
    ...receivingRoutes(messaging, options),
    ...clearingRoutes(messaging),
    ...readingRoutes(messaging, options),
  ];
}
