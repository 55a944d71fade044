/** The Link header field (RFC 8288): written for every answer, read from requests and from other services' answers. */
import { Problem } from '../problems.ts';
import { atEnd, type Parameter, readParameters, skipSpaces } from './field-reader.ts';
import { type CleanValue, NOT_IN_A_VALUE } from './protocol/fields.ts';
import type { Href } from './resource.ts';

/** A link to be written. `method` stands in bodies only: the header has no place for it. */
export interface Link {
  rel: string;
  href: string;
  method?: string;
  type?: string;
  title?: string;
}

/** What bodies show of a link, whatever else whoever made it has put into it. */
export function shownLink({ rel, href, method, type, title }: Link, absolute: (href: string) => string): Link {
  return {
    rel,
    href: absolute(href),
    ...(method !== undefined && { method }),
    ...(type !== undefined && { type }),
    ...(title !== undefined && { title }),
  };
}

/** A link to an address of ours, which needs no encoding. */
export interface OwnLink {
  readonly rel: string;
  readonly href: Href;
}

/** A link that was read from a header. */
export interface ParsedLink {
  href: string;
  /** As given; '' when there is none. */
  rel: string;
  /** The relations one by one, plain names in lower case and URIs as given. */
  rels: string[];
  type?: string;
  title?: string;
  /** Every parameter by its name in lower case, the first of each name; the record has no prototype. */
  params: Record<string, string>;
}

/** A Link header that cannot be read; the message says where. */
export class LinkError extends Error {
  override readonly name = 'LinkError';
}

const printable = /^[ -~]*$/;
// Printable, and needing no escape inside quotes: nearly every value, told by one look.
const plain = /^[ !#-[\]-~]*$/;
const needsEscape = /["\\]/g;
// What a URI may hold, with nothing that could end the `<...>` around it.
const cleanUri = /^[!#-;=?-Z[\]_a-z~]*$/;
const dirtyUriCharacters = /[^!#-;=?-Z[\]_a-z~]+/g;

/**
 * Writes one Link field value. Whatever the strings contain, the result is printable ASCII and reads back. Paths become
 * absolute with the base.
 */
export function formatLinks(links: readonly Link[], base = ''): CleanValue {
  checkBase(base);
  let value = '';
  for (const { href, rel, type, title } of links) {
    if (value !== '') value += ', ';
    value += `<${href.startsWith('/') ? base : ''}${uri(href)}>; rel=${quote(rel)}`;
    if (type !== undefined) value += `; type=${quote(type)}`;
    if (title !== undefined) value += printable.test(title) ? `; title=${quote(title)}` : `; title*=${extended(title)}`;
  }
  return value as CleanValue;
}

/** The same for one link of ours. */
export function formatOwnLink({ rel, href }: OwnLink, base: string): CleanValue {
  checkBase(base);
  return `<${base}${href}>; rel=${quote(rel)}` as CleanValue;
}

/** The base that was found to be one last: nearly all links have the same. */
let lastBase = '';

function checkBase(base: string): void {
  if (base === lastBase) return;
  if (NOT_IN_A_VALUE.test(base)) throw new Error(`no link can begin with ${JSON.stringify(base)}`);
  lastBase = base;
}

function uri(href: string): string {
  return cleanUri.test(href) ? href : href.toWellFormed().replace(dirtyUriCharacters, percentEncode);
}

function percentEncode(text: string): string {
  // encodeURIComponent leaves !'()* alone; those are fine in a URI.
  return encodeURIComponent(text);
}

function quote(text: string): string {
  if (plain.test(text)) return `"${text}"`;
  if (!printable.test(text)) return quote(text.toWellFormed().replace(/[^ -~]+/g, percentEncode));
  return `"${text.replace(needsEscape, '\\$&')}"`;
}

/** The form of RFC 8187 for text that is not plain ASCII. */
function extended(text: string): string {
  const encoded = percentEncode(text.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return `UTF-8''${encoded}`;
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** The target of a link that was read, for others than its reader: what is relative is so to the address it was sent to. */
export function resolveTarget(href: string, address: string): string {
  const isComplete = SCHEME.test(href) || (href.startsWith('/') && !href.startsWith('//'));
  return isComplete || !URL.canParse(href, address) ? href : new URL(href, address).href;
}

const unreadable = /[^\t -~\x80-\uFFFF]/;

/** Reads the links of one field value, or of several joined by commas; throws `LinkError` when it cannot. */
export function parseLinks(value: string): ParsedLink[] {
  const control = unreadable.exec(value);
  if (control !== null) throw new LinkError(`a control character at character ${control.index + 1} of the Link header`);
  const links: ParsedLink[] = [];
  const cursor = { text: value, at: 0 };
  for (;;) {
    skipSpaces(cursor);
    if (atEnd(cursor)) return links;
    if (value[cursor.at] === ',') {
      // Empty elements are allowed in any list.
      cursor.at += 1;
      continue;
    }
    if (value[cursor.at] !== '<') throw expectedAt(cursor.at, 'a "<" that begins a URI');
    const end = value.indexOf('>', cursor.at);
    if (end < 0) throw expectedAt(cursor.at, 'a URI that ends with ">"');
    const href = value.slice(cursor.at + 1, end);
    if (!/^[!-;=?-~]*$/.test(href)) throw expectedAt(cursor.at, 'a URI without spaces, "<" or unencoded characters');
    cursor.at = end + 1;
    const parameters = readParameters(cursor);
    if (parameters === undefined) throw expectedAt(cursor.at, 'a readable parameter such as rel="next"');
    if (!atEnd(cursor) && value[cursor.at] !== ',') throw expectedAt(cursor.at, 'a ";" or ","');
    links.push(linkOf(href, parameters));
  }
}

function expectedAt(at: number, what: string): LinkError {
  return new LinkError(`expected ${what} at character ${at + 1} of the Link header`);
}

function linkOf(href: string, parameters: readonly Parameter[]): ParsedLink {
  const params: Record<string, string> = Object.create(null);
  // RFC 8288: of a parameter that may stand once, the first counts.
  for (const { name, value } of parameters) params[name] ??= value;
  const rel = params.rel ?? '';
  const link: ParsedLink = { href, rel, rels: relations(rel), params };
  if (params.type !== undefined) link.type = params.type;
  const title = decodeExtended(params['title*']) ?? params.title;
  if (title !== undefined) link.title = title;
  return link;
}

/** Registered relations compare without regard to case; an extension relation is a URI, known by its colon. */
function relations(rel: string): string[] {
  const words = rel.split(/[ \t]+/).filter((word) => word !== '');
  return words.map((word) => (word.includes(':') ? word : word.toLowerCase()));
}

/** Undefined when it is not UTF-8 in the form of RFC 8187: a broken title must not cost the link. */
function decodeExtended(value: string | undefined): string | undefined {
  const encoded = value === undefined ? undefined : /^utf-8'[^']*'([^']*)$/i.exec(value)?.[1];
  if (encoded === undefined) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** The links of a request's Link field. Throws 400 when it cannot be read. */
export function readLinkField(field: string): ParsedLink[] {
  try {
    return parseLinks(field);
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    throw new Problem('bad-header', `the Link field cannot be read: ${error.message}`, {
      errors: [{ header: 'Link', detail: error.message }],
    });
  }
}
