/** The head of a request: its line and its fields. */
import { METHODS } from 'node:http';
import { Problem } from '../../problems.ts';
import { type Fields, malformed, parseFields, type RequestHeaders, TOKEN } from './fields.ts';

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly version: '1.0' | '1.1';
  readonly headers: RequestHeaders;
  readonly fields: Fields;
  /** Whether the client wants to send another request after this one. */
  readonly keepsAlive: boolean;
}

/** Whoever uses another one is told that nobody knows it, not that it does not fit. CONNECT is for proxies. */
const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS.filter((method) => method !== 'CONNECT'));
/** A path, an http URI (which has a host), or the star. None of them has a fragment. */
const TARGET = /^(?:(?:\/|https?:\/\/[\w.~:[\]-]+(?:[/?]|$))[\x21\x22\x24-\x7e]*|\*)$/i;
/** What CONNECT is for. It is told that this is no proxy. */
const AUTHORITY = /^[\w.~:[\]-]+$/;
/** Nearly all requests have such a line, told and taken apart by one look. */
const USUAL_LINE = /^(GET|HEAD|POST|PUT|DELETE) (\/[\x21\x22\x24-\x7e]*) HTTP\/1\.1$/;
const VERSION = /^HTTP\/\d\.\d$/;
/** RFC 9110, section 6.2: a higher minor version than the one known here is read as if it were that one. */
const LATER_MINOR = /^HTTP\/1\.[2-9]$/;

/** A longer head is read anew each time: what is remembered is held for as long as the connection is idle. */
const MOST_REMEMBERED = 2048;

interface Remembered {
  readonly text: string;
  readonly fieldsText: string;
  readonly head: RequestHead;
}

/**
 * Reads the heads of one connection. Clients say nearly the same again and again, or take turns between two requests (poll,
 * acknowledge, poll): what has not changed since one of the last two is not read anew.
 */
export function createHeadReader(): (text: string) => RequestHead {
  let last: Remembered | undefined;
  let before: Remembered | undefined;

  /** Takes the place of one with the same fields, so that the other one stays. */
  function remember(made: Remembered, alike: Remembered | undefined): void {
    if (alike === undefined || alike === before) before = last;
    last = made;
  }

  return (text) => {
    if (text === last?.text) return last.head;
    if (text === before?.text) {
      [last, before] = [before, last];
      return last.head;
    }
    const end = text.indexOf('\r\n');
    const line = end < 0 ? text : text.slice(0, end);
    const fieldsText = end < 0 ? '' : text.slice(end + 2);
    const { method, target, version } = parseRequestLine(line);
    const alike = fieldsText === last?.fieldsText ? last : fieldsText === before?.fieldsText ? before : undefined;
    const fields = alike === undefined ? parseFields(fieldsText) : alike.head.fields;
    const isKept = alike?.head.version === version ? alike.head.keepsAlive : keepsAlive(version, fields);
    const head = { method, target, version, headers: fields.headers, fields, keepsAlive: isKept };
    if (text.length <= MOST_REMEMBERED) remember({ text, fieldsText, head }, alike);
    return head;
  };
}

type RequestLine = Pick<RequestHead, 'method' | 'target' | 'version'>;

/** Throws what the client is to be told. */
export function parseRequestLine(line: string): RequestLine {
  const usual = USUAL_LINE.exec(line);
  if (usual !== null) return { method: usual[1] as string, target: usual[2] as string, version: '1.1' };
  const first = line.indexOf(' ');
  const second = line.indexOf(' ', first + 1);
  const method = line.slice(0, first);
  const target = line.slice(first + 1, second);
  const version = line.slice(second + 1);
  if (first <= 0 || second < 0 || !TARGET.test(target) || !KNOWN_METHODS.has(method)) {
    throw whatIsWrong(method, target, version);
  }
  if (version === 'HTTP/1.1') return { method, target, version: '1.1' };
  if (version === 'HTTP/1.0') return { method, target, version: '1.0' };
  if (LATER_MINOR.test(version)) return { method, target, version: '1.1' };
  throw whatIsWrong(method, target, version);
}

function whatIsWrong(method: string, target: string, version: string): Problem {
  const isTarget = TARGET.test(target) || (method === 'CONNECT' && AUTHORITY.test(target));
  if (!isTarget || !VERSION.test(version) || !TOKEN.test(method)) return malformed();
  if (!version.startsWith('HTTP/1.')) {
    return new Problem('version-unknown', 'only HTTP/1.1 and HTTP/1.0 are spoken here');
  }
  const detail = method === 'CONNECT' ? 'this is no proxy' : 'the request method is not one this service knows';
  return new Problem('method-unknown', detail);
}

function keepsAlive(version: RequestHead['version'], { headers: { connection }, framing }: Fields): boolean {
  // RFC 9112, section 6.1: its end cannot be trusted, another reader of the same bytes may see it elsewhere.
  if (version === '1.0' && framing === 'chunks') throw malformed('HTTP/1.0 knows no Transfer-Encoding');
  if (connection === undefined) return version === '1.1';
  const wishes = connection.toLowerCase().split(/[\t ]*,[\t ]*/);
  return version === '1.1' ? !wishes.includes('close') : wishes.includes('keep-alive') && !wishes.includes('close');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const NEVER_IN_A_HEAD = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|[^\r]\n|\r[^\n]/;

/**
 * Throws when what has come so far cannot become the head of a request, so that nobody waits for the rest of it. What
 * stands before `from` was checked before, but for its last byte: a head that comes byte by byte is not read anew each time.
 */
export function checkBeginning(bytes: Buffer, from: number): void {
  const end = bytes.indexOf('\r\n');
  if (end >= from) parseRequestLine(bytes.toString('latin1', 0, end));
  if (NEVER_IN_A_HEAD.test(bytes.toString('latin1', from))) throw malformed();
}
