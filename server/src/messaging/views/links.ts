/** The links of destinations and messages, as paths. */
import type { Link } from '../../http/links.ts';
import { paths } from '../../paths.ts';
import type { Destination } from '../destination.ts';
import type { DestinationKind } from '../settings.ts';
import { isSystemTopic } from '../system-topics.ts';

export const destinationPath = (kind: DestinationKind, name: string): string => paths.destination[kind].href({ name });

export function messagePath(kind: DestinationKind, name: string, messageId: string): string {
  return paths.message[kind].href({ name, 'message-id': messageId });
}

const post = (rel: string, href: string): Link => ({ rel, href, method: 'POST' });

/** The ways of posting to a destination. None leads to a topic that only Waypost itself writes to. */
function postingLinks(kind: DestinationKind, name: string): Link[] {
  if (isSystemTopic(kind, name)) return [];
  return [
    post('post-message', paths.messages[kind].href({ name })),
    post('post-message-once', paths.postOnce[kind].href({ name })),
    post('post-batch', paths.batches[kind].href({ name })),
    post('post-batch-once', paths.batchOnce[kind].href({ name })),
    post('message-factory', paths.messages[kind].href({ name })),
  ];
}

export interface LinkContext {
  /** Where a topic's `next` starts: behind the newest message of this moment. */
  readonly position?: string | undefined;
  /** Whether the dead-letter queue is there yet; it comes with the first dead message. */
  readonly hasDeadLetter?: boolean;
}

export function destinationLinks(destination: Destination, context: LinkContext = {}): Link[] {
  const { kind, name } = destination;
  const common = [
    { rel: 'self', href: destinationPath(kind, name) },
    { rel: 'collection', href: paths.destinations[kind].href({}) },
    ...postingLinks(kind, name),
  ];
  const own = kind === 'queue' ? queueLinks(destination, context) : topicLinks(name, context);
  const subscribers = paths.subscribers[kind].href({ name });
  return [...common, ...own, { rel: 'subscribers', href: subscribers, type: 'application/atom+xml' }];
}

function queueLinks({ name, effective, isDeadLetter }: Destination, { hasDeadLetter }: LinkContext): Link[] {
  const deadLetter = hasDeadLetter ? effective['dead-letter'] : undefined;
  return [
    post('poller', paths.poller.href({ name })),
    post('receiving', paths.receiving.href({ name })),
    post('purge', paths.purge.href({ name })),
    ...(deadLetter === undefined ? [] : [{ rel: 'dead-letter', href: destinationPath('queue', deadLetter) }]),
    ...(isDeadLetter ? [post('redrive', paths.redrive.href({ name }))] : []),
  ];
}

function topicLinks(name: string, { position }: LinkContext): Link[] {
  return [
    { rel: 'first', href: paths.first.href({ name }) },
    { rel: 'last', href: paths.last.href({ name }) },
    ...(position === undefined ? [] : [{ rel: 'next', href: paths.next.href({ name, position }) }]),
  ];
}

const REPLY = { queue: destinationPattern('queue'), topic: destinationPattern('topic') };

function destinationPattern(kind: DestinationKind): RegExp {
  const names = '([A-Za-z0-9._~-]{1,250})';
  const ways = [paths.destination[kind], paths.messages[kind]].map(({ template }) => template.replace('{name}', names));
  return new RegExp(`^(?:${ways.join('|')})$`);
}

/** Further ways to reply, which Waypost adds when the answer goes to a destination of its own. */
export function replyLinks(replyTo: string): Link[] {
  for (const kind of ['queue', 'topic'] as const) {
    const match = REPLY[kind].exec(replyTo);
    const name = match?.[1] ?? match?.[2];
    if (name === undefined) continue;
    if (isSystemTopic(kind, name)) return [];
    return [
      post('reply-to-once', paths.postOnce[kind].href({ name })),
      post('reply-to-batch', paths.batches[kind].href({ name })),
      post('reply-to-batch-once', paths.batchOnce[kind].href({ name })),
    ];
  }
  return [];
}
