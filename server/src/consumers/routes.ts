/** HTTP of the consumers area. */
import type { Route } from '../http/operation.ts';
import type { ConsumerArea } from './consumers.ts';
import { bulkRoutes } from './routes/bulk.ts';
import { consumerOnlyRoutes } from './routes/consumers.ts';
import { entitlementRoutes } from './routes/entitlements.ts';

export function consumerRoutes(area: ConsumerArea, limits: { maxBatch: number }): Route[] {
  return [...consumerOnlyRoutes(area), ...entitlementRoutes(area), ...bulkRoutes(area, limits)];
}
