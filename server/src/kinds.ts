/** What a short text from outside may be: a number, a length of time, a truth. Said once for reader and description. */
import { isIP } from 'node:net';

export interface Kind<T> {
  /** Undefined when the text is not of this kind. */
  read(text: string): T | undefined;
  /** Completes "must be …". */
  readonly expected: string;
  /** As JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
}

const DECIMAL = /^\d{1,15}(\.\d{1,9})?$/;

/** A length of time, whole or decimal seconds. */
export const seconds: Kind<number> = {
  read: (text) => (DECIMAL.test(text) ? Number(text) : undefined),
  expected: 'a number of seconds, whole or decimal, not negative',
  schema: { type: 'number', minimum: 0 },
};

export function secondsUpTo(most: number, { above = -1 } = {}): Kind<number> {
  return {
    read(text) {
      const value = seconds.read(text);
      return value !== undefined && value <= most && value > above ? value : undefined;
    },
    expected: `${above < 0 ? seconds.expected : `a number of seconds above ${above}`}, at most ${most}`,
    schema: { type: 'number', ...(above < 0 ? { minimum: 0 } : { exclusiveMinimum: above }), maximum: most },
  };
}

export function integer(minimum: number, maximum: number): Kind<number> {
  return {
    read(text) {
      if (!/^-?\d{1,16}$/.test(text)) return undefined;
      const value = Number(text);
      return value >= minimum && value <= maximum ? value : undefined;
    },
    expected: `a whole number from ${minimum} to ${maximum}`,
    schema: { type: 'integer', minimum, maximum },
  };
}

export const boolean: Kind<boolean> = {
  read: (text) => (text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : undefined),
  expected: 'true, false, 1 or 0',
  schema: { type: 'boolean' },
};

export const anyText: Kind<string> = { read: (text) => text, expected: 'text', schema: { type: 'string' } };

/** One of a few words. */
export function oneOf<W extends string>(...words: W[]): Kind<W> {
  return {
    read: (text) => words.find((word) => word === text),
    expected: `one of ${words.join(', ')}`,
    schema: { type: 'string', enum: words },
  };
}

/** A range of IP addresses. */
export interface Cidr {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

export const cidr: Kind<Cidr> = {
  read(text) {
    const [address = '', length, ...rest] = text.split('/');
    const version = isIP(address);
    const most = version === 4 ? 32 : 128;
    if (version === 0 || rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length))) return undefined;
    const prefix = length === undefined ? most : Number(length);
    return prefix <= most ? { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' } : undefined;
  },
  expected: 'an IP address or a range such as 10.0.0.0/8',
  schema: { type: 'string' },
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** In lower case. */
export const uuid: Kind<string> = {
  read: (text) => (UUID.test(text) ? text.toLowerCase() : undefined),
  expected: 'a UUID',
  schema: { type: 'string', format: 'uuid' },
};

const TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt]((?:[01]\d|2[0-3]):\d\d:\d\d)(\.\d{1,9})?(?:([Zz])|([+ -])(\d\d:\d\d))$/;

/** A moment, as milliseconds since the epoch. A `+` that came as a space, as it does in a careless query, is understood. */
export const time: Kind<number> = {
  read(text) {
    const [, year, month, day, clock, fraction = '', , sign = '+', offset = '00:00'] = TIME.exec(text) ?? [];
    // An offset must not lead out of the years that are written with four digits.
    if (year === undefined || year === '0000' || year === '9999') return undefined;
    // JavaScript takes 30 February for 2 March.
    const date = new Date(0);
    date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
    if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
    const read = Date.parse(`${year}-${month}-${day}T${clock}${fraction}${sign === '-' ? '-' : '+'}${offset}`);
    return Number.isNaN(read) ? undefined : read;
  },
  expected: 'a time as RFC 3339 writes it, such as 2026-01-31T12:00:00Z',
  schema: { type: 'string', format: 'date-time' },
};
