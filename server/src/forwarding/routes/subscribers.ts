/** HTTP of subscribers. */
import { location, NO_STORE, noContent } from '../../http/answer.ts';
import { AtomError, readAtomLink } from '../../http/atom.ts';
import { acceptedTypes, readableType, readFields, readXml } from '../../http/input.ts';
import type { Operation, Route } from '../../http/operation.ts';
import { pageLinks, pagingQuery, readPage, sliceOf } from '../../http/paging.ts';
import { readQuery } from '../../http/parameters.ts';
import type { Request } from '../../http/request.ts';
import { boolean } from '../../kinds.ts';
import type { Destination } from '../../messaging/destination.ts';
import type { Messaging } from '../../messaging/messaging.ts';
import { checkName } from '../../messaging/names.ts';
import type { DestinationKind } from '../../messaging/settings.ts';
import { paths } from '../../paths.ts';
import { Problem } from '../../problems.ts';
import type { Forwarding } from '../forwarding.ts';
import { invalid, type Registration, readRegistration, type Subscriber } from '../subscriber.ts';
import { ATOM_FIRST, subscriberDocument, subscriberList, subscriberPath } from '../views/subscribers.ts';
import { registrationShape, subscriberListShape, subscriberShape } from './shapes.ts';

const AREA = 'Subscribers';
const ATOM_TYPE = 'application/atom+xml';
const INPUT = { element: 'link', xmlTypes: [ATOM_TYPE] };
const ACCEPTED = [ATOM_TYPE, ...acceptedTypes(INPUT).filter((type) => type !== ATOM_TYPE)];

const skipQuery = {
  skip: { kind: boolean, help: 'true: a topic goes on after the message at which it stopped' },
} as const;

export function forwardingRoutes({ subscribers }: Forwarding, { destinations }: Messaging): Route[] {
  const wordOf = ({ parameters: { subscriber = '' } }: Request): string => subscriber;
  const nameOf = ({ parameters: { name = '' } }: Request): string => checkName(name, 'destination name');
  const viewOf = (destination: Destination, subscriber: Subscriber) => ({
    subscriber,
    destination,
    publicId: subscribers.publicId(subscriber),
  });

  async function describe(destination: Destination, subscriber: Subscriber) {
    return subscriberDocument(viewOf(destination, subscriber), await subscribers.attempts(subscriber));
  }

  function collection(kind: DestinationKind): Record<'GET' | 'POST', Operation> {
    return {
      GET: {
        summary: `List the subscribers of a ${kind}`,
        query: pagingQuery,
        produces: ATOM_FIRST,
        output: subscriberListShape,
        answers: { 200: 'An Atom feed' },
        problems: ['unknown-destination'],
        async handle(request) {
          const destination = await destinations.look(kind, nameOf(request));
          const page = readPage(request);
          const slice = sliceOf(page, await subscribers.list(destination, page));
          const links = [
            ...pageLinks(request, slice, ({ id }) => String(id)),
            { rel: 'about', href: paths.destination[kind].href({ name: destination.name }) },
          ];
          const views = slice.items.map((item) => viewOf(destination, item));
          return { status: 200, document: subscriberList(destination, views, links) };
        },
      },
      POST: {
        summary: `Register a target to which the messages of the ${kind} are forwarded: one Atom link element`,
        accepts: ACCEPTED,
        input: registrationShape,
        produces: ATOM_FIRST,
        output: subscriberShape,
        gives: { 200: ['Location', 'ETag'], 201: ['Location', 'ETag'] },
        answers: { 201: 'Registered; Location names it', 200: 'It was registered before; Location names it' },
        problems: ['unknown-destination', 'invalid', 'address-refused', 'too-many-subscribers'],
        async handle(request) {
          const name = nameOf(request);
          const wish = readWish(request, kind, name);
          const destination = await destinations.look(kind, name);
          const { subscriber, created } = await subscribers.register(destination, wish);
          return {
            status: created ? 201 : 200,
            headers: [location(subscriberPath(destination, subscribers.publicId(subscriber)))],
            document: await describe(destination, subscriber),
          };
        },
      },
    };
  }

  function one(kind: DestinationKind): Record<'GET' | 'DELETE', Operation> {
    return {
      GET: {
        summary: 'Look at a subscriber: its link, state, last attempts and counters',
        produces: ATOM_FIRST,
        output: subscriberShape,
        gives: { 200: ['ETag'] },
        answers: { 200: 'The subscriber' },
        problems: ['unknown-destination', 'unknown-subscriber'],
        async handle(request) {
          const destination = await destinations.look(kind, nameOf(request));
          const subscriber = await subscribers.get(destination, wordOf(request));
          return { status: 200, headers: [NO_STORE], document: await describe(destination, subscriber) };
        },
      },
      DELETE: {
        summary: 'Remove a subscriber; a message of a queue that it holds goes back to its place',
        answers: { 204: 'Removed' },
        problems: ['unknown-destination', 'unknown-subscriber'],
        async handle(request) {
          const destination = await destinations.look(kind, nameOf(request));
          await subscribers.remove(destination, wordOf(request));
          return noContent();
        },
      },
    };
  }

  function action(
    kind: DestinationKind,
    summary: string,
    act: (destination: Destination, word: string, request: Request) => Promise<Subscriber>,
    more: Pick<Operation, 'query'> = {},
  ): { POST: Operation } {
    return {
      POST: {
        summary,
        ...more,
        produces: ATOM_FIRST,
        output: subscriberShape,
        gives: { 200: ['ETag'] },
        answers: { 200: 'The subscriber as it is now' },
        problems: ['unknown-destination', 'unknown-subscriber', 'conflict'],
        async handle(request) {
          const destination = await destinations.look(kind, nameOf(request));
          const subscriber = await act(destination, wordOf(request), request);
          return { status: 200, headers: [NO_STORE], document: await describe(destination, subscriber) };
        },
      },
    };
  }

  return (['queue', 'topic'] as const).flatMap((kind) => [
    {
      resource: paths.subscribers[kind],
      title: `The subscribers of a ${kind}`,
      area: AREA,
      operations: collection(kind),
    },
    { resource: paths.subscriber[kind], title: `A subscriber of a ${kind}`, area: AREA, operations: one(kind) },
    {
      resource: paths.enableSubscriber[kind],
      title: `Enabling a subscriber of a ${kind}`,
      area: AREA,
      operations: action(
        kind,
        'Forward again, from where it stopped',
        (destination, word, request) =>
          subscribers.enable(destination, word, readQuery(request.query, skipQuery).skip ?? false),
        { query: skipQuery },
      ),
    },
    {
      resource: paths.disableSubscriber[kind],
      title: `Disabling a subscriber of a ${kind}`,
      area: AREA,
      operations: action(kind, 'Forward nothing until it is enabled again', subscribers.disable),
    },
    {
      resource: paths.trySubscriber[kind],
      title: `Trying a subscriber of a ${kind} now`,
      area: AREA,
      operations: action(kind, 'Try again now what waits to be tried again', subscribers.tryNow),
    },
  ]);
}

/** What is to be registered. A target of this service is kept as a path, so that a changed name or port breaks nothing. */
function readWish(request: Request, kind: DestinationKind, name: string): Registration {
  const wish = readRegistration(fieldsOf(request));
  const path = request.localPath(wish.href);
  if (path === undefined) return wish;
  const own = [paths.destination, paths.messages, paths.postOnce, paths.batches].map((each) =>
    each[kind].href({ name }),
  );
  if (own.includes(path.split('?')[0] ?? '')) throw invalid('href', `must not lead back to the ${kind} itself`);
  return { ...wish, href: path };
}

function fieldsOf(request: Request): { rel?: unknown; href?: unknown; secret?: unknown } {
  const type = readableType(request, acceptedTypes(INPUT));
  const isXml = type === ATOM_TYPE || type === 'application/xml' || type === 'text/xml';
  if (request.body.length === 0) throw new Problem('bad-body', 'the body must be one Atom link element');
  if (!isXml) return readFields(request, INPUT);
  const root = readXml(request.body, INPUT.element, acceptedTypes(INPUT));
  try {
    return { ...readAtomLink(root), secret: root.attributes.secret };
  } catch (error) {
    if (error instanceof AtomError) throw new Problem('invalid', error.message);
    throw error;
  }
}
