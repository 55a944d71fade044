/** HTTP of single messages at their own addresses. */
import { location, noContent } from '../../http/answer.ts';
import { checkConditions } from '../../http/conditions.ts';
import type { Operation, Route } from '../../http/operation.ts';
import { readQuery } from '../../http/parameters.ts';
import { paths } from '../../paths.ts';
import { Problem } from '../../problems.ts';
import { messageState, postingQuery } from '../message.ts';
import type { Messaging } from '../messaging.ts';
import type { FoundMessage } from '../queries/messages.ts';
import type { DestinationKind } from '../settings.ts';
import { destinationPath, messagePath } from '../views/links.ts';
import { messageResource, messageTag } from '../views/messages.ts';
import { AREA, messageIdOf, nameOf, refuseTransaction, transactionOf, viewOf } from './common.ts';
import { draftOf } from './draft.ts';
import { MESSAGE_FIELDS } from './shapes.ts';

export function messageRoutes(messaging: Messaging): Route[] {
  const { destinations, posting } = messaging;

  function readMessage(kind: DestinationKind): Operation {
    return {
      summary: 'Look at a retained message without consuming it',
      produces: ['*'],
      gives: { 200: [...MESSAGE_FIELDS, 'ETag'] },
      answers: { 200: 'The message, with its own content' },
      problems: ['unknown-destination', 'unknown-message', 'message-gone'],
      async handle(request) {
        const destination = await destinations.look(kind, nameOf(request));
        const found = await messaging.read(destination, messageIdOf(request));
        const { message, delivery, expires } = found;
        const now = messaging.now();
        const state = messageState(found, now);
        const view = viewOf(messaging, destination, message, { state, deliveries: delivery?.tries });
        return messageResource(view, tagOf(found, now), expires === null ? undefined : expires - now);
      },
    };
  }

  const tagOf = (found: FoundMessage, now: number): string =>
    messageTag(
      messaging.publicId({ id: found.message.id, name: null }),
      messageState(found, now),
      found.delivery?.tries,
    );

  /** Undefined when there is no such message. */
  async function presentTag(name: string, id: string): Promise<string | undefined> {
    try {
      const queue = await destinations.look('queue', name);
      return tagOf(await messaging.read(queue, id), messaging.now());
    } catch (error) {
      if (error instanceof Problem && (error.status === 404 || error.status === 410)) return undefined;
      throw error;
    }
  }

  const queueMessageOperations: Record<'GET' | 'PUT' | 'DELETE', Operation> = {
    GET: readMessage('queue'),
    PUT: {
      summary: 'Post a message under an id of your own choice; a repeat changes nothing',
      query: postingQuery,
      accepts: ['*'],
      produces: [],
      gives: { 200: ['Location', 'Link'], 201: ['Location', 'Link'] },
      answers: { 200: 'The same message was posted before', 201: 'Stored' },
      headers: { 'If-None-Match': '*: only if there is no message of this id, so that a repeat is refused, too' },
      problems: [
        'bad-name',
        'bad-query',
        'message-id-taken',
        'precondition-failed',
        'destination-full',
        'storage-full',
      ],
      async handle(request) {
        const name = nameOf(request);
        const id = messageIdOf(request);
        const { 'if-match': match, 'if-none-match': noneMatch } = request.headers;
        const isConditional = match !== undefined || noneMatch !== undefined;
        if (isConditional) checkConditions(request, await presentTag(name, id));
        const isNew = await posting.put(name, id, draftOf(request), {
          wishes: readQuery(request.query, postingQuery),
          transaction: transactionOf(request),
        });
        // Somebody else may have been quicker.
        if (isConditional && !isNew) checkConditions(request, await presentTag(name, id));
        const path = messagePath('queue', name, id);
        return {
          status: isNew ? 201 : 200,
          headers: [location(path)],
          links: [{ rel: 'generator', href: destinationPath('queue', name) }],
        };
      },
    },
    DELETE: {
      summary: 'Take a message off its queue',
      answers: { 204: 'Gone' },
      headers: { 'If-Match': 'the ETag of the message: only as it was seen, when nobody has taken it since' },
      problems: ['unknown-destination', 'unknown-message', 'message-gone', 'precondition-failed', 'invalid'],
      async handle(request) {
        refuseTransaction(request, 'a removal');
        const queue = await destinations.look('queue', nameOf(request));
        await messaging.remove(queue, messageIdOf(request), (found) =>
          checkConditions(request, tagOf(found, messaging.now())),
        );
        return noContent();
      },
    },
  };

  return [
    { resource: paths.message.queue, title: 'A message of a queue', area: AREA, operations: queueMessageOperations },
    {
      resource: paths.message.topic,
      title: 'A message of a topic',
      area: AREA,
      operations: { GET: readMessage('topic') },
    },
  ];
}
