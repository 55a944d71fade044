/**
 * Events that Waypost publishes itself: CloudEvents in binary mode, posted to a system topic in the same commit as the
 * change they tell of.
 */
import type { Store, Tx } from '../../store/store.ts';
import type { StoredField } from '../forwarded-fields.ts';
import { ABOUT } from '../message.ts';
import { insertTopicMessages } from '../queries/topics.ts';
import type { SystemTopic } from '../system-topics.ts';
import type { Destinations } from './destinations.ts';

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
  /** The last statements of the transaction: the topic's counter row is held from here to the commit. */
  publish(tx: Tx, events: readonly ServiceEvent[]): Promise<void>;
  /** Wakes readers. Call it after the commit, when something was published. */
  announce(): void;
}

export function createEvents(store: Store, destinations: Destinations): Events {
  return {
    async publisher(name) {
      const topic = await destinations.ensure('topic', name);
      return {
        async publish(tx, events) {
          if (events.length === 0) return;
          const now = store.now();
          const messages = events.map((event) => {
            const id = store.nextId() * 2;
            const fields: StoredField[] = [
              ['ce-specversion', '1.0'],
              ['ce-id', String(id)],
              ['ce-source', `/topics/${name}`],
              ['ce-type', event.type],
              ['ce-subject', event.subject],
              ['ce-time', new Date(now).toISOString()],
              [ABOUT, event.subject],
            ];
            const body = Buffer.from(JSON.stringify(event.data));
            return { id, contentType: 'application/json', headers: JSON.stringify(fields), body };
          });
          await insertTopicMessages(tx, topic.id, now, messages);
        },
        announce: () => store.announce({ arrived: new Map([[topic.id, 1]]) }),
      };
    },
  };
}
