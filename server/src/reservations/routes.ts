/** HTTP of reservations, their transactional state, tickets and rooms. */
import { location } from '../http/answer.ts';
import { readAtomLinks } from '../http/atom.ts';
import { acceptedTypes, type InputFields, readableType, readFields, readXml } from '../http/input.ts';
import { readLinkField } from '../http/links.ts';
import type { Operation, Route } from '../http/operation.ts';
import { pageLinks, pagingQuery, readPage, sliceOf } from '../http/paging.ts';
import type { Request } from '../http/request.ts';
import type { XmlNode } from '../http/xml.ts';
import { paths } from '../paths.ts';
import { Problem } from '../problems.ts';
import { STATE_TYPE } from '../transactions/state-document.ts';
import { elementsOfJson, elementsOfXml, kinds, type ReservationKind } from './reservation.ts';
import type { Reservations } from './reservations.ts';
import {
  newReservationShape,
  newStateShape,
  outcomeShape,
  reservationListShape,
  reservationShape,
  stateShape,
} from './shapes.routes.ts';
import { outcomeDocument, reservationDocument, reservationList, stateDocument } from './views.ts';

const AREA = 'Reservations';

export function reservationRoutes(reservations: Reservations): Route[] {
  return (['airline', 'hotel'] as const).flatMap((kind) => routesOf(kind, reservations));
}

function routesOf(kind: ReservationKind, reservations: Reservations): Route[] {
  const { requestType, answerType, outcome, outcomeType } = kinds[kind];
  const input = { element: 'reservation', xmlTypes: [requestType, answerType], forms: false };
  const stateInput = { element: 'transactional-state', xmlTypes: [STATE_TYPE], forms: false };
  const wordOf = ({ parameters: { reservation = '' } }: Request): string => reservation;
  const produces = [answerType, 'application/json'];

  const create: Operation = {
    summary: `Reserve, as part of a transaction that is linked`,
    headers: { Link: 'rel="transaction" names the transaction, unless a link in the body does' },
    accepts: acceptedTypes(input),
    input: newReservationShape(kind),
    produces,
    output: reservationShape(kind),
    gives: { 200: ['Location', 'ETag'] },
    answers: { 200: 'Reserved; Location names it' },
    problems: ['bad-body', 'invalid', 'conflict', 'unsupported-media-type'],
    async handle(request) {
      const { transaction, elements } = readReservation(request);
      const reservation = await reservations.create(kind, request.localPath(transaction) ?? transaction, elements);
      const word = reservations.wordOf(reservation);
      return {
        status: 200,
        headers: [location(paths.reservation[kind].href({ reservation: word }))],
        document: reservationDocument(reservation, word),
      };
    },
  };

  function readReservation(request: Request): { transaction: string; elements: XmlNode[] } {
    const isXml = readableType(request, acceptedTypes(input))?.endsWith('xml');
    const fields: InputFields = isXml ? {} : readFields(request, input);
    const root =
      isXml && request.body.length > 0 && readFields(request, input)
        ? readXml(request.body, 'reservation', acceptedTypes(input))
        : undefined;
    const links = root === undefined ? jsonLinks(fields) : readAtomLinks(root);
    const transaction = links.find(({ rel }) => rel === 'transaction')?.href ?? linkedBy(request);
    if (transaction === undefined || transaction === '') {
      const detail =
        'must have a link of relation transaction: an element <link rel="transaction" href="…"/>, ' +
        'in JSON a member "links": [{"rel": "transaction", "href": "…"}], or a Link field';
      throw new Problem('invalid', `a reservation ${detail}`, { errors: [{ pointer: '/links', detail }] });
    }
    return { transaction, elements: root === undefined ? elementsOfJson(fields) : elementsOfXml(root) };
  }

  const list: Operation = {
    summary: 'The reservations, newest first',
    query: pagingQuery,
    output: reservationListShape(kind),
    answers: { 200: 'A page of them' },
    async handle(request) {
      const page = readPage(request);
      const slice = sliceOf(page, await reservations.list(kind, page));
      const items = slice.items.map((reservation) => ({ reservation, word: reservations.wordOf(reservation) }));
      const links = pageLinks(request, slice, ({ id }) => String(id));
      return { status: 200, document: reservationList(kind, items, links) };
    },
  };

  const read: Operation = {
    summary: 'A reservation',
    produces,
    output: reservationShape(kind),
    gives: { 200: ['ETag'] },
    answers: { 200: 'The reservation' },
    problems: ['not-found'],
    async handle(request) {
      const reservation = await reservations.get(kind, wordOf(request));
      return { status: 200, document: reservationDocument(reservation, wordOf(request)) };
    },
  };

  const readState: Operation = {
    summary: 'The state of the reservation in its transaction',
    produces: [STATE_TYPE, 'application/json'],
    output: stateShape,
    gives: { 200: ['ETag'] },
    answers: { 200: 'The state; none is named at first' },
    problems: ['not-found'],
    async handle(request) {
      const reservation = await reservations.get(kind, wordOf(request));
      return { status: 200, document: stateDocument(reservation, wordOf(request)) };
    },
  };

  const changeState: Operation = {
    summary: 'Prepare, commit or roll back; for the transaction manager, in its order',
    accepts: [STATE_TYPE, 'application/xml', 'application/json'],
    input: newStateShape,
    produces: [STATE_TYPE, 'application/json'],
    output: stateShape,
    gives: { 200: ['ETag'] },
    answers: { 200: 'The state was changed, or was so before' },
    problems: ['not-found', 'out-of-turn', 'conflict', 'invalid'],
    async handle(request) {
      const { state } = readFields(request, stateInput);
      if (state !== 'prepared' && state !== 'committed' && state !== 'rolled-back') {
        const detail = 'must be prepared, committed or rolled-back';
        throw new Problem('invalid', `state ${detail}`, { errors: [{ pointer: '/state', detail }] });
      }
      const reservation = await reservations.change(kind, wordOf(request), state);
      return { status: 200, document: stateDocument(reservation, wordOf(request)) };
    },
  };

  const readOutcome: Operation = {
    summary: `The ${outcome} that a committed reservation became`,
    produces: [outcomeType, 'application/json'],
    output: outcomeShape(kind, outcome),
    answers: { 200: `The ${outcome}` },
    problems: ['not-found'],
    async handle(request) {
      const reservation = await reservations.get(kind, wordOf(request));
      if (reservation.state !== 'committed') throw new Problem('not-found', `there is no such ${outcome}`);
      return { status: 200, document: outcomeDocument(reservation, wordOf(request)) };
    },
  };

  const of = `${kind} reservation`;
  return [
    { resource: paths.reservations[kind], title: `The ${of}s`, area: AREA, operations: { GET: list, POST: create } },
    { resource: paths.reservation[kind], title: `A ${of}`, area: AREA, operations: { GET: read } },
    {
      resource: paths.transactionState[kind],
      title: `The transactional state of a ${of}`,
      area: AREA,
      operations: { GET: readState, PUT: changeState },
    },
    { resource: paths.outcome[kind], title: `A ${outcome}`, area: AREA, operations: { GET: readOutcome } },
  ];
}

/** The transaction may be linked as messages link theirs. */
function linkedBy({ headers: { link } }: Request): string | undefined {
  if (typeof link !== 'string') return undefined;
  return readLinkField(link).find(({ rels }) => rels.includes('transaction'))?.href;
}

function jsonLinks(fields: InputFields): { rel: string; href: string }[] {
  const { links } = fields;
  if (!Array.isArray(links)) return [];
  return links.filter(
    (link): link is { rel: string; href: string } => typeof link?.rel === 'string' && typeof link?.href === 'string',
  );
}
