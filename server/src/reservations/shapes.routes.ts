/** What the bodies of reservations hold, for the description of the service. */
import type { Shape } from '../http/operation.ts';
import { links, listShape, text, time } from '../http/shapes.ts';
import type { ReservationKind } from './reservation.ts';

/** The elements that name what is locked. All are optional and free-form, and others may be added. */
const elements = {
  airline: { date: text, flight: text, seat: text },
  hotel: {
    date: { ...text, description: 'the first night' },
    nights: { type: ['string', 'integer'], description: '1 unless given' },
    hotel: text,
    room: text,
  },
} as const satisfies Record<ReservationKind, Record<string, unknown>>;

const examples = {
  airline: { date: '2027-03-01', flight: 'WP 7', seat: '12A' },
  hotel: { date: '2027-03-01', nights: '3', hotel: 'Seaview', room: '7' },
} as const satisfies Record<ReservationKind, Record<string, string>>;

const TRANSACTION = 'http://localhost:8080/transaction-manager/transactions/2srmzdvwsm6';

export function newReservationShape(kind: ReservationKind): Shape {
  const children = Object.entries(examples[kind]).map(([name, value]) => `<${name}>${value}</${name}>`);
  return {
    name: `new-${kind}-reservation`,
    schema: {
      type: 'object',
      properties: {
        ...elements[kind],
        links: { ...links, description: 'one of relation transaction, unless the Link field has it' },
      },
      additionalProperties: true,
    },
    example: { ...examples[kind], links: [{ rel: 'transaction', href: TRANSACTION }] },
    xml: `<reservation>${children.join('')}<link rel="transaction" href="${TRANSACTION}"/></reservation>`,
  };
}

export function reservationShape(kind: ReservationKind): Shape {
  return {
    name: `${kind}-reservation`,
    schema: {
      type: 'object',
      required: ['id', 'created', 'links'],
      properties: { ...elements[kind], id: text, created: time, links },
      additionalProperties: true,
    },
  };
}

export const reservationListShape = (kind: ReservationKind): Shape => listShape(reservationShape(kind));

/** A ticket or a room. */
export function outcomeShape(kind: ReservationKind, name: string): Shape {
  return {
    name,
    schema: {
      type: 'object',
      required: ['id', 'links'],
      properties: { ...elements[kind], id: text, links },
      additionalProperties: true,
    },
  };
}

const STATES = ['prepared', 'committed', 'rolled-back'];

export const stateShape: Shape = {
  name: 'transactional-state',
  schema: {
    type: 'object',
    required: ['links'],
    properties: { state: { type: 'string', enum: STATES, description: 'none is named at first' }, links },
  },
};

export const newStateShape: Shape = {
  name: 'new-transactional-state',
  schema: { type: 'object', required: ['state'], properties: { state: { type: 'string', enum: STATES } } },
  example: { state: 'prepared' },
  xml: '<transactional-state state="prepared"/>',
};
