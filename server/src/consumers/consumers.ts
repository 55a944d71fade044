/** The consumers area: its use cases over one store. */
import type { Sealer } from '../ids.ts';
import type { Events } from '../messaging/usecases/events.ts';
import type { Store } from '../store/store.ts';
import { type Bulk, createBulk } from './usecases/bulk.ts';
import { type Consumers, createConsumers } from './usecases/consumers.ts';
import { type Addresses, createContext } from './usecases/context.ts';
import { createEntitlements, type Entitlements } from './usecases/entitlements.ts';
import { createListing, type Listing } from './usecases/listing.ts';

export interface ConsumerArea {
  readonly consumers: Consumers;
  readonly entitlements: Entitlements;
  readonly listing: Listing;
  readonly bulk: Bulk;
  readonly now: () => number;
}

export function createConsumerArea(store: Store, events: Events, sealer: Sealer, addresses: Addresses): ConsumerArea {
  const context = createContext(store, addresses, () => events.publisher('consumer-events'));
  return {
    consumers: createConsumers(context),
    entitlements: createEntitlements(context),
    listing: createListing(store),
    bulk: createBulk(context, sealer),
    now: store.now,
  };
}
