/**
 * How values come back from PostgreSQL: as text. The library reads every value as UTF-8 before it looks at its format, so
 * that bytes in binary would arrive damaged.
 */
type Parser = (text: string) => unknown;

/** Ids, times and counts stay far below 2^53; a number that does not is an error, not a rounding. */
function parseInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the number ${text} is too large`);
  return value;
}

/** `\x` and hexadecimal digits, which is what `bytea_output` is set to. */
const parseBytes: Parser = (text) => Buffer.from(text.slice(2), 'hex');
const parseBoolean: Parser = (text) => text === 't';
const asItIs: Parser = (text) => text;

/** By the numbers of pg_type. */
const PARSERS: ReadonlyMap<number, Parser> = new Map<number, Parser>([
  [16, parseBoolean],
  [17, parseBytes],
  [20, parseInteger],
  [21, Number],
  [23, Number],
  [26, Number],
  // EXPLAIN (FORMAT JSON)
  [114, JSON.parse],
  [700, Number],
  [701, Number],
  // sum() over int8 is numeric.
  [1700, Number],
]);

export const types = {
  getTypeParser: (oid: number): Parser => PARSERS.get(oid) ?? asItIs,
};
