/** Moves deliveries whose time has come (see messaging/usecases/redelivery.ts), when it has come. Runs on every node. */
import type { Messaging } from '../messaging/messaging.ts';
import type { Store } from '../store/store.ts';
import type { Duty } from './duties.ts';

/** A look at least this often finds what other nodes made due. */
const LOOK_EVERY = 1000;

export function createPromoter({ redelivery }: Messaging, store: Store): Duty {
  return async () => {
    const { more, next } = await redelivery.step();
    if (more) return 0;
    return next === undefined ? LOOK_EVERY : Math.min(LOOK_EVERY, Math.max(1, next - store.now()));
  };
}
