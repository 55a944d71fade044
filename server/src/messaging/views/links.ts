/** The links of destinations and messages, as paths. */
import type { Link } from '../../http/links.ts';
import { paths } from '../../paths.ts';
import type { DestinationKind } from '../settings.ts';

export function destinationPath(kind: DestinationKind, name: string): string {
  return (kind === 'queue' ? paths.queue : paths.topic).href({ name });
}

export function messagePath(kind: DestinationKind, name: string, messageId: string): string {
  return (kind === 'queue' ? paths.queueMessage : paths.topicMessage).href({ name, 'message-id': messageId });
}

export function queueLinks(name: string): Link[] {
  const self = paths.queue.href({ name });
  return [
    { rel: 'self', href: self },
    { rel: 'collection', href: paths.queues.href({}) },
    { rel: 'receiving', href: paths.receiving.href({ name }), method: 'POST' },
  ];
}
