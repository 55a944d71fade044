/** Topics that Waypost itself writes to. Clients read and subscribe to them like any other, but cannot post or delete. */
import { Problem } from '../problems.ts';
import type { DestinationKind } from './settings.ts';

export const SYSTEM_TOPICS = ['operator-notices', 'consumer-events'] as const;

export type SystemTopic = (typeof SYSTEM_TOPICS)[number];

export const isSystemTopic = (kind: DestinationKind, name: string): boolean =>
  kind === 'topic' && (SYSTEM_TOPICS as readonly string[]).includes(name);

export function refuseClients(kind: DestinationKind, name: string): void {
  if (!isSystemTopic(kind, name)) return;
  throw new Problem(
    'forbidden',
    `only Waypost itself writes to the topic ${name}; clients can read it and subscribe to it`,
  );
}
