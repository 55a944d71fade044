/** HTTP of queues and topics: listing, creation, settings, the direct post, deletion. */
import { type Answer, location, noContent } from '../../http/answer.ts';
import { checkConditions } from '../../http/conditions.ts';
import { acceptedTypes, readFields } from '../../http/input.ts';
import type { Operation, Route } from '../../http/operation.ts';
import { pageLinks, pagingQuery, readPage, sliceOf } from '../../http/paging.ts';
import { readQuery } from '../../http/parameters.ts';
import { boolean } from '../../kinds.ts';
import { paths } from '../../paths.ts';
import { Problem } from '../../problems.ts';
import type { Destination } from '../destination.ts';
import { postingQuery } from '../message.ts';
import type { Messaging } from '../messaging.ts';
import { type DestinationKind, readSettings } from '../settings.ts';
import { destinationDocument, destinationList, destinationTemplates, templateOf } from '../views/destinations.ts';
import { destinationPath } from '../views/links.ts';
import { AREA, nameOf, refuseTransaction, withheldFromClients } from './common.ts';
import { postOne } from './draft.ts';
import { destinationListShape, destinationShape, newDestinationShape, settingsShape } from './shapes.ts';

const forceQuery = {
  force: { kind: boolean, help: 'true: also when it still holds messages, which are dropped' },
} as const;

export function destinationRoutes(messaging: Messaging): Route[] {
  const { destinations } = messaging;

  async function describe(destination: Destination): Promise<Pick<Answer, 'document' | 'templates'>> {
    const counts = await destinations.counts(destination);
    const { kind } = destination;
    const context = {
      position: kind === 'topic' ? await messaging.reading.position(destination) : undefined,
      hasDeadLetter: await destinations.hasDeadLetter(destination),
    };
    const document = destinationDocument(destination, counts, context);
    return { document, templates: destinationTemplates(destination) };
  }

  function collection(kind: DestinationKind): Record<'GET' | 'POST', Operation> {
    const input = { element: kind };
    return {
      GET: {
        summary: `List the ${kind}s by name`,
        query: pagingQuery,
        output: destinationListShape(kind),
        gives: { 200: ['Link-Template'] },
        answers: { 200: `The ${kind}s, a page at a time` },
        async handle(request) {
          const page = readPage(request);
          const slice = sliceOf(page, await destinations.list(kind, page));
          const links = pageLinks(request, slice, (item) => item.name);
          return { status: 200, document: destinationList(kind, slice.items, links), templates: [templateOf(kind)] };
        },
      },
      POST: {
        summary: `Create a ${kind}`,
        accepts: acceptedTypes(input),
        input: newDestinationShape(kind),
        output: destinationShape(kind),
        gives: { 201: ['Location', 'ETag', 'Link-Template'] },
        answers: { 201: 'Created; Location names it' },
        problems: ['bad-name', 'destination-exists', 'invalid'],
        async handle(request) {
          const fields = readFields(request, input);
          if (typeof fields.name !== 'string') {
            throw new Problem('invalid', 'a name is needed', {
              errors: [{ pointer: '/name', detail: 'must be given' }],
            });
          }
          const { name } = fields;
          const destination = await destinations.create(kind, name, readSettings(kind, name, fields)).catch((error) => {
            throw leadingTo(kind, name, error);
          });
          return {
            status: 201,
            headers: [location(destinationPath(kind, destination.name))],
            ...(await describe(destination)),
          };
        },
      },
    };
  }

  function destinationOperations(kind: DestinationKind): Record<'GET' | 'PUT' | 'POST' | 'DELETE', Operation> {
    const input = { element: kind };
    return {
      GET: {
        summary: `Look at a ${kind}: its settings, counts and links`,
        output: destinationShape(kind),
        gives: { 200: ['ETag', 'Link-Template'] },
        answers: { 200: `The ${kind}` },
        problems: ['unknown-destination'],
        async handle(request) {
          return { status: 200, ...(await describe(await destinations.look(kind, nameOf(request)))) };
        },
      },
      PUT: {
        summary: `Create a ${kind} or replace its settings; a setting left out has its default`,
        accepts: acceptedTypes(input),
        headers: { 'If-Match': 'the ETag the settings must still have' },
        input: settingsShape(kind),
        output: destinationShape(kind),
        gives: { 200: ['ETag', 'Link-Template'], 201: ['Location', 'ETag', 'Link-Template'] },
        answers: { 200: 'Settings replaced', 201: 'Created' },
        problems: ['bad-name', 'invalid', 'precondition-failed'],
        async handle(request) {
          refuseTransaction(request, 'a change of settings');
          const name = nameOf(request);
          const fields = readFields(request, input);
          if (fields.name !== undefined && fields.name !== name) {
            throw new Problem('invalid', 'the name in the body is not the one in the address', {
              errors: [{ pointer: '/name', detail: `must be ${name} or left out` }],
            });
          }
          const { destination, created } = await destinations.put(
            kind,
            name,
            readSettings(kind, name, fields),
            (present) => checkConditions(request, present && `${present.id}.${present.version}`),
          );
          const headers = created ? [location(destinationPath(kind, name))] : [];
          return { status: created ? 201 : 200, headers, ...(await describe(destination)) };
        },
      },
      POST: {
        summary: `Post a message to the ${kind}`,
        query: postingQuery,
        accepts: ['*'],
        gives: { 204: ['Location'] },
        answers: { 204: 'Stored; Location names the message' },
        problems: ['bad-query', 'too-large', 'destination-full', 'storage-full'],
        handle: (request) => postOne(messaging, kind, request, 204),
      },
      DELETE: {
        summary: `Delete the ${kind}`,
        query: forceQuery,
        answers: { 204: 'Deleted' },
        problems: ['unknown-destination', 'destination-not-empty', 'invalid'],
        async handle(request) {
          refuseTransaction(request, 'a deletion');
          const { force = false } = readQuery(request.query, forceQuery);
          const destination = await destinations.look(kind, nameOf(request));
          await destinations.remove(destination, force, (present) =>
            checkConditions(request, `${present.id}.${present.version}`),
          );
          return noContent();
        },
      },
    };
  }

  return (['queue', 'topic'] as const).flatMap((kind) => [
    { resource: paths.destinations[kind], title: `The ${kind}s`, area: AREA, operations: collection(kind) },
    {
      resource: paths.destination[kind],
      title: `A ${kind}`,
      area: AREA,
      operations: destinationOperations(kind),
      withheld: withheldFromClients(kind, 'POST', 'DELETE'),
    },
  ]);
}

/** The same failure; one that says that the destination is there has a link to it. */
function leadingTo(kind: DestinationKind, name: string, error: unknown): unknown {
  if (!(error instanceof Problem) || error.code !== 'destination-exists') return error;
  return new Problem(error.code, error.message, { links: [{ rel: 'about', href: destinationPath(kind, name) }] });
}
