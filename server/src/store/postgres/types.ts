/** How values travel between JavaScript and PostgreSQL, set once for all connections. */

import { isUtf8 } from 'node:buffer';

const BACKSLASH = 0x5c;

/** Ids, times and counts stay far below 2^53; a number that does not is an error, not a rounding. */
function parseInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the number ${text} is too large`);
  return value;
}

function numberList(values: readonly (number | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

function textList(values: readonly (string | null)[]): string {
  const quoted = values.map((value) => (value === null ? 'NULL' : `"${value.replace(/["\\]/g, '\\$&')}"`));
  return `{${quoted.join(',')}}`;
}

/**
 * PostgreSQL reads bytes as text with a backslash before what is special, or as hexadecimal digits. Text is half as long and
 * costs half as much on both sides. It must be valid in the encoding of connection and database, which is UTF-8, and
 * cannot contain a zero.
 */
function bytes(value: Buffer): string {
  if (!isUtf8(value) || value.includes(0)) return `\\x${value.toString('hex')}`;
  const text = value.toString('utf8');
  return value.includes(BACKSLASH) ? text.replaceAll('\\', '\\\\') : text;
}

/** Lists go out only; no statement reads one back. */
const list = <T>(oid: number, serialize: (values: readonly (T | null)[]) => string) => ({
  to: oid,
  from: [oid],
  serialize,
  parse: (text: string) => text,
});

/**
 * By the numbers of pg_type. The library would fetch the list types with a query on each new connection, and writes
 * numbers in lists as quoted text; both are avoided by naming the few that are used.
 */
export const types = {
  int8: { to: 20, from: [20], serialize: String, parse: parseInteger },
  // sum() over int8 is numeric.
  numeric: { to: 1700, from: [1700], serialize: String, parse: Number },
  bytea: {
    to: 17,
    from: [17],
    serialize: bytes,
    parse: (text: string) => Buffer.from(text.slice(2), 'hex'),
  },
  int2List: list<number>(1005, numberList),
  int4List: list<number>(1007, numberList),
  int8List: list<number>(1016, numberList),
  textList: list<string>(1009, textList),
};
