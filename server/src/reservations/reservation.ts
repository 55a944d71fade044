/** Reservations: what a client may send, what prepare locks, and when a state may change. */
import type { Field } from '../http/document.ts';
import { ATOM, isXmlName, type XmlElement, type XmlNode } from '../http/xml.ts';
import { Problem } from '../problems.ts';
import type { TransactionState } from '../transactions/protocol.ts';

export type ReservationKind = 'airline' | 'hotel';

/** The empty text is the initial state, which has no name. */
export type ReservationState = '' | 'prepared' | 'committed' | 'rolled-back';

export interface Reservation {
  readonly id: number;
  readonly kind: ReservationKind;
  /** A path of this service or a URI of another. */
  readonly transactionUri: string;
  /** The number of a transaction of this service. */
  readonly transaction: number | null;
  readonly elements: readonly XmlNode[];
  readonly state: ReservationState;
  readonly version: number;
  readonly created: number;
}

export const kinds = {
  airline: {
    requestType: 'application/airline-rsv+xml',
    answerType: 'application/airline-res+xml',
    outcome: 'ticket',
    outcomeType: 'application/ticket+xml',
  },
  hotel: {
    requestType: 'application/hotel-rsv+xml',
    answerType: 'application/hotel-res+xml',
    outcome: 'room',
    outcomeType: 'application/room+xml',
  },
} as const satisfies Record<ReservationKind, Record<string, string>>;

/** The elements of an XML reservation, as they came; links and what the service adds are left out. */
export function elementsOfXml(root: XmlElement): XmlNode[] {
  return root.children.filter(({ name, namespace }) => !(name === 'link' && (namespace === ATOM || namespace === '')));
}

const RESERVED = new Set(['id', 'state', 'created', 'links']);

/** The elements of a JSON reservation. */
export function elementsOfJson(fields: Readonly<Record<string, unknown>>): XmlNode[] {
  return Object.entries(fields)
    .filter(([name, value]) => !RESERVED.has(name) && value !== null)
    .map(([name, value]) => nodeOf(name, value));
}

function nodeOf(name: string, value: unknown): XmlNode {
  if (!isXmlName(name) || name.includes(':')) {
    throw new Problem('invalid', `${name} cannot be the name of an element`, {
      errors: [{ pointer: `/${name}`, detail: 'must be a name that XML allows' }],
    });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { name, children: Object.entries(value).map(([inner, each]) => nodeOf(inner, each)) };
  }
  if (['string', 'number', 'boolean'].includes(typeof value)) return { name, children: [String(value)] };
  throw new Problem('invalid', `${name} must be a text, a number or an object`, {
    errors: [{ pointer: `/${name}`, detail: 'must be a text, a number or an object' }],
  });
}

const partsOf = (node: XmlNode): readonly (XmlNode | string)[] =>
  (node as { content?: readonly (XmlNode | string)[] }).content ?? node.children ?? [];

/** The text of an element, with that of the elements in it. */
export function textOf(node: XmlNode): string {
  return partsOf(node)
    .map((part) => (typeof part === 'string' ? part : textOf(part)))
    .join('');
}

/** The elements as JSON fields; an element that is there several times becomes a list. */
export function fieldsOf(elements: readonly XmlNode[]): Record<string, Field> {
  const fields: Record<string, Field> = {};
  for (const node of elements) {
    const nested = partsOf(node).filter((part): part is XmlNode => typeof part !== 'string');
    const value: Field = nested.length === 0 ? textOf(node) : fieldsOf(nested);
    const present = fields[node.name];
    fields[node.name] = present === undefined ? value : [...(Array.isArray(present) ? present : [present]), value];
  }
  return fields;
}

const ISO_DATE = /^\d{4}-\d{2}-\d{2}$/;
/** Each night is locked by a row of its own. */
export const MAX_NIGHTS = 366;
const DAY = 86_400_000;

/**
 * The places that prepare locks (B11): a seat, or a room for each night. None when what names them is left out; undefined
 * when they are too many.
 */
export function placesOf(kind: ReservationKind, elements: readonly XmlNode[]): string[] | undefined {
  const value = (name: string): string | undefined => {
    const node = elements.find((element) => element.name === name);
    return node === undefined ? undefined : textOf(node).trim();
  };
  const date = value('date');
  if (kind === 'airline') return placeOf(value('flight'), date, value('seat'));
  const nights = Number(value('nights') ?? 1);
  const [hotel, room] = [value('hotel'), value('room')];
  const first = date !== undefined && ISO_DATE.test(date) ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(first) || !Number.isInteger(nights) || nights < 1) return placeOf(hotel, date, room);
  if (nights > MAX_NIGHTS) return undefined;
  return Array.from({ length: nights }, (_, night) => new Date(first + night * DAY).toISOString().slice(0, 10)).flatMap(
    (each) => placeOf(hotel, each, room),
  );
}

function placeOf(...parts: (string | undefined)[]): string[] {
  return parts.some((part) => part === undefined || part === '') ? [] : [JSON.stringify(parts)];
}

/**
 * Whether a state may follow another (B12). `transaction` is the state of the transaction when it is one of this service:
 * nobody who knows the address can change a state out of turn.
 */
export function mayChange(
  from: ReservationState,
  to: 'prepared' | 'committed' | 'rolled-back',
  transaction: TransactionState | 'forgotten' | 'elsewhere',
): boolean {
  if (from === to) return true;
  const isElsewhere = transaction === 'elsewhere';
  switch (to) {
    case 'prepared':
      return from === '' && (isElsewhere || transaction === 'preparing');
    case 'committed':
      return from === 'prepared' && (isElsewhere || transaction === 'committing' || transaction === 'committed');
    case 'rolled-back':
      return (
        from !== 'committed' && (isElsewhere || ['rolling-back', 'rolled-back', 'forgotten'].includes(transaction))
      );
  }
}
