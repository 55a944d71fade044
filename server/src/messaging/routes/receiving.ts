/** HTTP of receiving from a queue: taking for good, taking on lease, looking, and the verdict on a delivery. */
import { noContent } from '../../http/answer.ts';
import { acceptedTypes, readFields, remembering } from '../../http/input.ts';
import type { Operation, Route } from '../../http/operation.ts';
import { readQuery } from '../../http/parameters.ts';
import type { Request } from '../../http/request.ts';
import { integer } from '../../kinds.ts';
import { paths } from '../../paths.ts';
import { Problem } from '../../problems.ts';
import type { Destination } from '../destination.ts';
import { stateOf } from '../message.ts';
import type { Messaging } from '../messaging.ts';
import { readVerdict } from '../verdict.ts';
import { acknowledgementDocument } from '../views/acknowledgement.ts';
import { destinationLinks } from '../views/links.ts';
import type { MessageView } from '../views/messages.ts';
import {
  AREA,
  answerWith,
  type MessagingRouteOptions,
  messageIdOf,
  nameOf,
  refuseContent,
  refuseTransaction,
  SEVERAL_ELSEWHERE,
  SEVERAL_HELP,
  SEVERAL_TYPES,
  transactionOf,
  viewOf,
} from './common.ts';
import { acknowledgementShape, DELIVERY_FIELDS, verdictShape } from './shapes.ts';
import { readWait, waitHeaders } from './waiting.ts';

export function receivingRoutes(messaging: Messaging, options: MessagingRouteOptions): Route[] {
  const { destinations, receiving } = messaging;
  const query = {
    max: { kind: integer(1, options.maxBatch), help: SEVERAL_HELP, alsoCalled: SEVERAL_ELSEWHERE },
  } as const;

  const common = {
    query,
    headers: waitHeaders,
    produces: ['*', ...SEVERAL_TYPES],
    gives: { 200: DELIVERY_FIELDS, 204: ['Link'] },
    answers: { 200: 'The message, with its own content', 204: 'No message now' },
    problems: ['unknown-destination', 'bad-header', 'bad-query', 'busy'],
  } as const satisfies Partial<Operation>;

  async function wantedOf(request: Request) {
    const { max } = readQuery(request.query, query);
    const wait = readWait(request, options.maxWait);
    const name = nameOf(request);
    const queue = destinations.known('queue', name) ?? (await destinations.get('queue', name));
    return {
      queue,
      wanted: { max: max ?? 1, wait, transaction: transactionOf(request) },
      several: max !== undefined,
    };
  }

  type Asked = Awaited<ReturnType<typeof wantedOf>>;

  /** Nothing is looked up for an answer with messages: they are taken, and must arrive whatever fails meanwhile. */
  async function answer(request: Request, { queue, wanted, several }: Asked, views: readonly MessageView[]) {
    const context = views.length > 0 ? {} : { hasDeadLetter: await destinations.hasDeadLetter(queue) };
    return answerWith(request, views, { several, links: () => destinationLinks(queue, context), wait: wanted.wait });
  }

  const takingProblems = [...common.problems, 'bad-request'] as const;

  const receivingOperations: Record<'GET' | 'POST', Operation> = {
    POST: {
      ...common,
      summary: 'Take the oldest message off the queue for good',
      problems: takingProblems,
      async handle(request) {
        const asked = await wantedOf(request);
        refuseContent(request, 'messages are taken');
        const { queue, wanted } = asked;
        const taken = await receiving.receive(queue, wanted, request);
        const state = wanted.transaction === undefined ? 'acknowledged' : 'leased';
        const views = taken.map((message) =>
          viewOf(messaging, queue, message, { state, deliveries: message.deliveries }),
        );
        return answer(request, asked, views);
      },
    },
    GET: {
      ...common,
      summary: 'Look at the oldest message without taking it',
      async handle(request) {
        const asked = await wantedOf(request);
        const { queue, wanted } = asked;
        const found = await receiving.peek(queue, wanted, request);
        const views = found.map(({ message, delivery }) =>
          viewOf(messaging, queue, message, { state: 'available', deliveries: delivery?.tries ?? 0 }),
        );
        return answer(request, asked, views);
      },
    },
  };

  const poll: Operation = {
    ...common,
    summary: 'Lease the next message: it is hidden from others until acknowledged or until the lease is over',
    problems: takingProblems,
    async handle(request) {
      const asked = await wantedOf(request);
      refuseContent(request, 'messages are taken');
      const { queue, wanted } = asked;
      const taken = await receiving.poll(queue, wanted, request);
      // What a transaction holds is acknowledged by its commit, and by nothing else.
      const views = taken.map((message) => {
        const token = wanted.transaction === undefined ? message.token : undefined;
        return viewOf(messaging, queue, message, { state: 'leased', deliveries: message.deliveries, token });
      });
      return answer(request, asked, views);
    },
  };

  /** A word that this message was never delivered under is not found; one that was may have been overtaken. */
  function tokenOf(request: Request, queue: Destination): number {
    const number = messaging.tokenOf(queue, messageIdOf(request), request.parameters.token ?? '');
    if (number === undefined) throw new Problem('not-found', 'no delivery of this message has such a link');
    return number;
  }

  const input = { element: 'acknowledgement' };
  const verdictOf = remembering((request) => readVerdict(readFields(request, input)));
  const acknowledgementOperations: Record<'GET' | 'POST', Operation> = {
    GET: {
      summary: 'The present state of the message, and whether this delivery is still the newest',
      output: acknowledgementShape,
      answers: { 200: 'The state' },
      problems: ['unknown-message', 'message-gone'],
      async handle(request) {
        const queue = await destinations.get('queue', nameOf(request));
        const token = tokenOf(request, queue);
        const { message, delivery } = await messaging.read(queue, messageIdOf(request));
        if (delivery === undefined) throw new Problem('unknown-message', 'this message was never delivered');
        const state = stateOf(delivery, messaging.now());
        const view = viewOf(messaging, queue, message, { state, token });
        return { status: 200, document: acknowledgementDocument(view, delivery, delivery.token === token) };
      },
    },
    POST: {
      summary: 'Acknowledge the message, put it back, or extend the lease',
      accepts: acceptedTypes(input),
      input: verdictShape,
      answers: { 204: 'Done, or done before' },
      problems: ['bad-body', 'unknown-message', 'message-gone', 'overtaken', 'already-acknowledged', 'invalid'],
      async handle(request) {
        refuseTransaction(request, 'a verdict');
        const verdict = verdictOf(request);
        const name = nameOf(request);
        const queue = destinations.known('queue', name) ?? (await destinations.get('queue', name));
        const token = tokenOf(request, queue);
        await receiving.settle(queue, messageIdOf(request), token, verdict);
        return noContent();
      },
    },
  };

  return [
    { resource: paths.receiving, title: 'Receiving from a queue', area: AREA, operations: receivingOperations },
    { resource: paths.poller, title: 'The poller of a queue', area: AREA, operations: { POST: poll } },
    {
      resource: paths.acknowledgement,
      title: 'The acknowledgement of a delivery',
      area: AREA,
      operations: acknowledgementOperations,
    },
  ];
}
