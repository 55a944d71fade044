/**
 * The few grammar rules that structured header fields share (RFC 9110, section 5.6): tokens, quoted strings,
 * parameters and comma-separated lists. Every function moves forward only, so the work is linear in the input.
 */

/** A place in a text that the reading functions move forward. */
export interface Cursor {
  readonly text: string;
  at: number;
}

/** One `name` or `name=value`; the name is in lower case, the value is '' where there is none. */
export interface Parameter {
  readonly name: string;
  readonly value: string;
}

const tokenPattern = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
// Looser than a token: `type=application/tx+xml` and `rel=http://example.org/x` are common without quotes.
const barePattern = /[^\s",;<>\\\p{Cc}]+/uy;

function readPattern(cursor: Cursor, pattern: RegExp): string {
  pattern.lastIndex = cursor.at;
  const found = pattern.exec(cursor.text)?.[0] ?? '';
  cursor.at += found.length;
  return found;
}

/** Moves over spaces and tabs. */
export function skipSpaces(cursor: Cursor): void {
  while (cursor.text[cursor.at] === ' ' || cursor.text[cursor.at] === '\t') cursor.at += 1;
}

/** Reads a token; '' when there is none here. */
export function readToken(cursor: Cursor): string {
  return readPattern(cursor, tokenPattern);
}

/** Reads a quoted string that begins here; undefined when it never ends. */
export function readQuoted(cursor: Cursor): string | undefined {
  const { text } = cursor;
  let value = '';
  let from = cursor.at + 1;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      cursor.at = at + 1;
      return value + text.slice(from, at);
    }
    if (char === '\\') {
      value += text.slice(from, at);
      at += 1;
      from = at;
    }
  }
  return undefined;
}

/** Reads a value, quoted or bare; undefined when it is neither. */
function readValue(cursor: Cursor): string | undefined {
  if (cursor.text[cursor.at] === '"') return readQuoted(cursor);
  const value = readPattern(cursor, barePattern);
  return value === '' ? undefined : value;
}

/** Reads `name`, or `name=value` with or without quotes; undefined when there is none or its value cannot be read. */
export function readParameter(cursor: Cursor): Parameter | undefined {
  const name = readToken(cursor).toLowerCase();
  if (name === '') return undefined;
  skipSpaces(cursor);
  if (cursor.text[cursor.at] !== '=') return { name, value: '' };
  cursor.at += 1;
  skipSpaces(cursor);
  const value = readValue(cursor);
  return value === undefined ? undefined : { name, value };
}

/**
 * Reads `;`-separated parameters until something else comes, which is the caller's to judge. Undefined when one of
 * them cannot be read.
 */
export function readParameters(cursor: Cursor): Parameter[] | undefined {
  const parameters: Parameter[] = [];
  for (;;) {
    skipSpaces(cursor);
    if (cursor.text[cursor.at] !== ';') return parameters;
    cursor.at += 1;
    skipSpaces(cursor);
    const next = cursor.text[cursor.at];
    // RFC 9110 lets a parameter be empty: `a;;b` and `a;` are readable.
    if (next === undefined || next === ';' || next === ',') continue;
    const parameter = readParameter(cursor);
    if (parameter === undefined) return undefined;
    parameters.push(parameter);
  }
}

/** True when nothing is left to read. */
export function atEnd(cursor: Cursor): boolean {
  return cursor.at >= cursor.text.length;
}

/** Splits a list at the commas that stand outside quoted strings; empty elements are left out. */
export function splitList(text: string): string[] {
  const elements: string[] = [];
  let from = 0;
  const take = (to: number) => {
    const element = text.slice(from, to).trim();
    if (element !== '') elements.push(element);
    from = to + 1;
  };
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') quoted = !quoted;
    else if (quoted && char === '\\') at += 1;
    else if (char === ',' && !quoted) take(at);
  }
  take(text.length);
  return elements;
}

/** A media type with its parameters. */
export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly essence: string;
  readonly parameters: readonly Parameter[];
}

/** Reads a whole Content-Type value or media range; undefined when it is not one. */
export function readMediaType(text: string): MediaType | undefined {
  const cursor = { text, at: 0 };
  skipSpaces(cursor);
  const type = readToken(cursor);
  if (type === '' || text[cursor.at] !== '/') return undefined;
  cursor.at += 1;
  const subtype = readToken(cursor);
  if (subtype === '') return undefined;
  const parameters = readParameters(cursor);
  if (parameters === undefined || !atEnd(cursor)) return undefined;
  return { essence: `${type}/${subtype}`.toLowerCase(), parameters };
}

/** Whether text of this charset is UTF-8: by name, or because ASCII is a part of it. */
export const isUtf8 = (charset: string): boolean => /^(?:utf-?8|us-ascii)$/i.test(charset);
