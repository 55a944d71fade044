/** HTTP of receiving from a queue: taking, and looking without taking. */
import { type Answer, NO_STORE, noContent } from '../../http/answer.ts';
import { formatLinks } from '../../http/links.ts';
import type { Operation, Route } from '../../http/operation.ts';
import { readQuery } from '../../http/parameters.ts';
import type { Request } from '../../http/request.ts';
import { integer } from '../../kinds.ts';
import { paths } from '../../paths.ts';
import type { Destination } from '../destination.ts';
import type { Messaging } from '../messaging.ts';
import { queueLinks } from '../views/links.ts';
import { deliveredMessage, deliveredMessages, type MessageView } from '../views/messages.ts';
import { AREA, nameOf } from './common.ts';
import { readWait } from './waiting.ts';

export interface ReceivingRouteOptions {
  /** Seconds. */
  readonly maxWait: number;
  readonly maxBatch: number;
}

export function receivingRoutes(messaging: Messaging, options: ReceivingRouteOptions): Route[] {
  const { destinations, receiving } = messaging;
  const receivingQuery = {
    max: { kind: integer(1, options.maxBatch), help: 'up to this many messages, as multipart/mixed' },
  } as const;
  const waitHeaders = { 'Accept-Wait': 'seconds to wait when there is no message (Prefer: wait is a synonym)' };

  function answerWith(request: Request, queue: Destination, views: readonly MessageView[], several: boolean): Answer {
    const [first] = views;
    if (first === undefined) return noContent({ links: queueLinks(queue.name), headers: [NO_STORE] });
    if (!several) return deliveredMessage(first);
    const absolute = (path: string): string => (path.startsWith('/') ? request.base + path : path);
    return { ...deliveredMessages(views, absolute, formatLinks), links: queueLinks(queue.name) };
  }

  const receivingOperations: Record<'GET' | 'POST', Operation> = {
    POST: {
      summary: 'Take the oldest message off the queue for good',
      query: receivingQuery,
      headers: waitHeaders,
      produces: ['*', 'multipart/mixed'],
      answers: { 200: 'The message, with its own content', 204: 'No message now' },
      problems: ['unknown-destination', 'bad-header', 'bad-query', 'busy'],
      async handle(request) {
        const { max } = readQuery(request.query, receivingQuery);
        const wait = readWait(request, options.maxWait);
        const queue = await destinations.get('queue', nameOf(request));
        const taken = await receiving.receive(queue, { max: max ?? 1, wait }, request);
        const views = taken.map((message) => messaging.view(queue, message, 'acknowledged', message.deliveries));
        return answerWith(request, queue, views, max !== undefined);
      },
    },
    GET: {
      summary: 'Look at the oldest message without taking it',
      query: receivingQuery,
      headers: waitHeaders,
      produces: ['*', 'multipart/mixed'],
      answers: { 200: 'The message, with its own content', 204: 'No message now' },
      problems: ['unknown-destination', 'bad-header', 'bad-query', 'busy'],
      async handle(request) {
        const { max } = readQuery(request.query, receivingQuery);
        const wait = readWait(request, options.maxWait);
        const queue = await destinations.get('queue', nameOf(request));
        const found = await receiving.peek(queue, { max: max ?? 1, wait }, request);
        const views = found.map(({ message, delivery }) =>
          messaging.view(queue, message, 'available', delivery?.tries ?? 0),
        );
        return answerWith(request, queue, views, max !== undefined);
      },
    },
  };

  return [{ resource: paths.receiving, title: 'Receiving from a queue', area: AREA, operations: receivingOperations }];
}
