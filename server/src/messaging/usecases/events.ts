/**
 * Events that Waypost publishes itself: CloudEvents in binary mode, posted to a system topic in the same commit as the
 * change they tell of.
 */
import type { NewMessage, Posting, Store, Tx } from '../../store/store.ts';
import type { StoredField } from '../forwarded-fields.ts';
import { ABOUT } from '../message.ts';
import type { SystemTopic } from '../system-topics.ts';
import type { Destinations } from './destinations.ts';

/** A topic has no priorities. */
const RANK = 5;

export interface ServiceEvent {
  /** For example `consumer.terminated`. */
  readonly type: string;
  /** The path of what changed; receivers get it as a link of relation `about`. */
  readonly subject: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Events {
  /** Makes sure that the topic is there and gives the publisher for one use case. Call it before the transaction. */
  publisher(topic: SystemTopic): Promise<Publisher>;
}

export interface Publisher {
  /** Call it late: the topic's counter row is held from here to the commit. */
  publish(tx: Tx, events: readonly ServiceEvent[]): Promise<void>;
  /** The same as the last thing that the transaction does: those who publish wait for each other's commits only. */
  publishLast(tx: Tx, events: readonly ServiceEvent[]): Promise<void>;
  /** Wakes readers. Call it after the commit, when something was published. */
  announce(): void;
}

export function createEvents(store: Store, destinations: Destinations): Events {
  return {
    async publisher(name) {
      const topic = await destinations.ensure('topic', name);
      const toMessage = ({ type, subject, data }: ServiceEvent, now: number): NewMessage => {
        const id = store.nextId() * 2;
        const fields: StoredField[] = [
          ['ce-specversion', '1.0'],
          ['ce-id', String(id)],
          ['ce-source', `/topics/${name}`],
          ['ce-type', type],
          ['ce-subject', subject],
          ['ce-time', new Date(now).toISOString()],
          [ABOUT, subject],
        ];
        const body = Buffer.from(JSON.stringify(data));
        const headers = JSON.stringify(fields);
        return { id, contentType: 'application/json', headers, body, rank: RANK, expires: null, delayedUntil: null };
      };
      const postingOf = (events: readonly ServiceEvent[]): Posting => {
        const now = store.now();
        return {
          destination: topic.id,
          kind: 'topic',
          posted: now,
          messages: events.map((event) => toMessage(event, now)),
        };
      };
      return {
        async publish(tx, events) {
          if (events.length > 0) await store.messages.postIn(tx, postingOf(events));
        },
        async publishLast(tx, events) {
          if (events.length > 0) await store.messages.postLast(tx, postingOf(events));
        },
        announce: () => store.announce({ arrived: new Map([[topic.id, 1]]) }),
      };
    },
  };
}
