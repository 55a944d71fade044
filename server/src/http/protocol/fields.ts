/** The header fields of a request, as strictly as RFC 9112 allows: what two readers could read differently is refused. */
import { Problem, shown } from '../../problems.ts';

/** By lower-case name. A field that came several times is joined with commas, unless it can only have one value. */
export type RequestHeaders = Readonly<Record<string, string | undefined>>;

/** What follows the head: nothing, chunks, or so many bytes. */
export type Framing = 'nothing' | 'chunks' | number;

export interface Fields {
  /** Names and values in turns, as they were sent. */
  readonly raw: readonly string[];
  readonly headers: RequestHeaders;
  readonly framing: Framing;
}

/** Names of fields and methods. */
export const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What the value of a field cannot hold, in requests as in answers. */
export const NOT_IN_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

declare const isClean: unique symbol;

/** The value of a field that holds nothing of that, whatever it was made of: only who makes sure of it may say so. */
export type CleanValue = string & { readonly [isClean]: true };

const MOST_FIELDS = 1000;

/** Of these only the first counts: a list of them means nothing. (Whoever cares that there are two looks at `raw`.) */
const SINGLE = new Set([
  'authorization',
  'content-type',
  'from',
  'if-modified-since',
  'if-unmodified-since',
  'max-forwards',
  'proxy-authorization',
  'referer',
  'user-agent',
]);

export const malformed = (detail = 'the request is not well-formed HTTP/1.1'): Problem =>
  new Problem('bad-request', detail);

export const headersTooLarge = (): Problem =>
  new Problem('headers-too-large', 'the header fields are larger than the limit');

/** Reads the lines between the request line and the empty line. Throws what the client is to be told. */
export function parseFields(text: string): Fields {
  const raw: string[] = [];
  // Without a prototype: a field may have any name.
  const headers: Record<string, string | undefined> = Object.create(null);
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('\r\n', at);
    const end = next < 0 ? text.length : next;
    addField(text.slice(at, end), raw, headers);
    at = end + 2;
  }
  return { raw, headers, framing: framingOf(headers) };
}

function addField(line: string, raw: string[], headers: Record<string, string | undefined>): void {
  const colon = line.indexOf(':');
  const name = line.slice(0, colon);
  const value = trimmed(line, colon + 1);
  if (colon < 0 || !TOKEN.test(name) || NOT_IN_A_VALUE.test(value)) throw malformed();
  if (raw.push(name, value) > 2 * MOST_FIELDS) throw headersTooLarge();
  const key = name.toLowerCase();
  const before = headers[key];
  if (before === undefined) headers[key] = value;
  else if (key === 'host') throw malformed('the Host field must be given once');
  else if (key === 'cookie') headers[key] = `${before}; ${value}`;
  else if (!SINGLE.has(key)) headers[key] = `${before}, ${value}`;
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

/** Without the blanks around it. What else the language takes for white space belongs to the value. */
function trimmed(line: string, start: number): string {
  let from = start;
  let to = line.length;
  while (from < to && isBlank(line.charCodeAt(from))) from++;
  while (to > from && isBlank(line.charCodeAt(to - 1))) to--;
  return line.slice(from, to);
}

const LENGTH = /^\d+$/;

/** Where the request ends. A doubt about that is how one request is smuggled inside another. */
function framingOf(headers: RequestHeaders): Framing {
  const length = headers['content-length'];
  const coding = headers['transfer-encoding'];
  if (coding !== undefined) {
    if (length !== undefined) throw malformed('Content-Length and Transfer-Encoding exclude each other');
    if (coding.toLowerCase() === 'chunked') return 'chunks';
    throw malformed(`the only Transfer-Encoding understood here is chunked, not ${shown(coding)}`);
  }
  if (length === undefined) return 'nothing';
  // Two of them were joined with a comma, which is no digit.
  if (!LENGTH.test(length) || !Number.isSafeInteger(Number(length))) {
    throw malformed('the Content-Length must be given once, as a number of bytes');
  }
  return Number(length) === 0 ? 'nothing' : Number(length);
}
