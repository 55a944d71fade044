/** Reservations, their transactional state, tickets and rooms as documents. */
import type { Document } from '../http/document.ts';
import type { Link } from '../http/links.ts';
import { timeOf } from '../http/times.ts';
import { paths } from '../paths.ts';
import { STATE_TYPE } from '../transactions/state-document.ts';
import { fieldsOf, kinds, type Reservation, type ReservationKind } from './reservation.ts';

export const TRANSACTION_TYPE = 'application/tx+xml';

export function reservationDocument(reservation: Reservation, word: string): Document {
  const { kind, elements, created, version } = reservation;
  return {
    name: 'reservation',
    fields: { ...fieldsOf(elements), id: word, created: timeOf(created) },
    attributes: ['id', 'created'],
    elements,
    links: reservationLinks(reservation, word),
    types: [kinds[kind].answerType, 'application/json'],
    version,
  };
}

function reservationLinks({ kind, transactionUri, state }: Reservation, word: string): Link[] {
  const { outcome, outcomeType } = kinds[kind];
  const parameters = { reservation: word };
  return [
    { rel: 'self', href: paths.reservation[kind].href(parameters) },
    { rel: 'collection', href: paths.reservations[kind].href({}) },
    { rel: 'transaction', href: transactionUri, type: TRANSACTION_TYPE },
    { rel: 'transaction-state', href: paths.transactionState[kind].href(parameters), type: STATE_TYPE },
    ...(state === 'committed' ? [{ rel: outcome, href: paths.outcome[kind].href(parameters), type: outcomeType }] : []),
  ];
}

export function stateDocument({ kind, state, version }: Reservation, word: string): Document {
  return {
    name: 'transactional-state',
    fields: { state: state === '' ? undefined : state },
    attributes: ['state'],
    links: [
      { rel: 'self', href: paths.transactionState[kind].href({ reservation: word }) },
      { rel: 'about', href: paths.reservation[kind].href({ reservation: word }) },
    ],
    types: [STATE_TYPE, 'application/json'],
    version,
  };
}

/** A ticket or a room: what the reservation became. */
export function outcomeDocument({ kind, elements }: Reservation, word: string): Document {
  const { outcome, outcomeType } = kinds[kind];
  return {
    name: outcome,
    fields: { ...fieldsOf(elements), id: word },
    attributes: ['id'],
    elements,
    links: [
      { rel: 'self', href: paths.outcome[kind].href({ reservation: word }) },
      { rel: 'reservation', href: paths.reservation[kind].href({ reservation: word }) },
    ],
    types: [outcomeType, 'application/json'],
  };
}

export function reservationList(
  kind: ReservationKind,
  items: readonly { reservation: Reservation; word: string }[],
  links: readonly Link[],
): Document {
  return {
    name: 'reservations',
    fields: {},
    links,
    items: items.map(({ reservation, word }) => reservationDocument(reservation, word)),
    types: ['application/json', 'application/xml', kinds[kind].answerType],
  };
}
