/**
 * What happens to deliveries whose time has come, as one bounded step that a duty repeats:
 *
 *   delayed, delay over                          -> available (a topic's message gets its position)
 *   leased, lease over, deliveries left          -> available, at its old place
 *   leased, lease over, no deliveries left       -> dead, and a copy in the dead-letter queue
 *   available or delayed, life over              -> expired
 *
 * Every node runs it; rows that another node is moving are passed over. The messages of a topic are moved by one node at a
 * time, in their order.
 */
import type { Store } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import { destinationsById } from '../queries/destinations.ts';
import {
  type DueDelivery,
  expireDue,
  giveTopicPosition,
  lockDue,
  lockDueTopics,
  makeReady,
  nextDue,
} from '../queries/redelivery.ts';
import { createBurial, type DeadMessage } from './burial.ts';

export interface Step {
  /** Whether there may be more due now. */
  readonly more: boolean;
  /** When the next delivery becomes due, as far as is known. */
  readonly next: number | undefined;
}

const CHUNK = 200;
/** Dead and expired messages are kept as long as consumed ones of a queue with default settings. */
const KEPT_EXPIRED = 3_600_000;

export function createRedelivery(store: Store): { step(): Promise<Step> } {
  const bury = createBurial(store);

  return {
    async step() {
      const now = store.now();
      const { arrived, changed, more, next } = await store.transaction(async (tx) => {
        const arrived = new Map<number, number>();
        const changed: number[] = [];
        const arrive = (id: number, count: number): void => void arrived.set(id, (arrived.get(id) ?? 0) + count);
        const topics = await lockDueTopics(tx, now, CHUNK);
        const due = await lockDue(tx, now, CHUNK);
        let more = due.length >= CHUNK;
        const destinations = await destinationsById(tx, [...new Set(due.map(({ dest }) => dest))]);
        // By their numbers, as posts lock topics: two that meet never wait for each other.
        const groups = [...Map.groupBy(due, ({ dest }) => dest)].sort(([a], [b]) => a - b);
        for (const [id, deliveries] of groups) {
          const destination = destinations.get(id);
          // Those of a deleted destination are swept away by their own duty; until then they are out of the way.
          const { dead = [], alive = [] } = Object.groupBy(deliveries, (each) =>
            destination !== undefined && isSpent(destination, each) ? 'dead' : 'alive',
          );
          // What would be expired at once takes no position: readers would be told of a gap.
          const appearing = alive.filter(({ expires }) => expires === null || expires > now);
          if (destination?.kind === 'topic' && !topics.has(id)) {
            // Became due between the two looks: another node may be at it.
            more = true;
            continue;
          }
          if (destination?.kind === 'topic') for (const each of appearing) await giveTopicPosition(tx, id, each, now);
          else await makeReady(tx, alive);
          if (alive.length > 0) arrive(id, alive.length);
          if (destination !== undefined && dead.length > 0) {
            const target = await bury(tx, destination, dead.map(toDead), now);
            arrive(target.id, dead.length);
            if (!target.isDeadLetter) changed.push(target.id);
          }
        }
        const expired = await expireDue(tx, now, now + KEPT_EXPIRED, CHUNK);
        return { arrived, changed, more: more || expired >= CHUNK, next: await nextDue(tx) };
      });
      if (arrived.size > 0 || changed.length > 0) store.announce({ arrived, changed });
      return { more, next };
    },
  };
}

function isSpent({ effective }: Destination, { state, tries }: DueDelivery): boolean {
  const most = effective['max-deliveries'];
  return state === 1 && most !== undefined && tries >= most;
}

const toDead = ({ id, tries }: DueDelivery): DeadMessage => ({
  id,
  reason: `not acknowledged in ${tries === 1 ? 'its only delivery' : `${tries} deliveries`}`,
});
