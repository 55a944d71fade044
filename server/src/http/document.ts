/**
 * A document and its two twins. Views build one `Document`; this file writes it as JSON and as XML with the same fields.
 * Links stand in the body of both and in the Link field; those of a list's items in the body only.
 */

import { createHash } from 'node:crypto';
import { type Link, shownLink } from './links.ts';
import { ATOM, renderXml, type XmlNode } from './xml.ts';

export type Field =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Field[]
  | { readonly [name: string]: Field };

export interface Document {
  /** The XML element. */
  readonly name: string;
  readonly fields: Readonly<Record<string, Field>>;
  /** Fields that are attributes in XML. */
  readonly attributes?: readonly string[];
  /** Children that XML shows as they are, instead of the fields of the same names. */
  readonly elements?: readonly XmlNode[];
  readonly links: readonly Link[];
  readonly items?: readonly Document[];
  /** Media types in the order of preference; the first is the default. Endings tell JSON from XML. */
  readonly types?: readonly string[];
  /** The XML form where it is not made of the fields: Atom, for example. */
  readonly xml?: (absolute: (href: string) => string) => XmlNode;
  /** Changes with the state; yields the ETag. */
  readonly version?: string | number;
  /** A page for people, served when a browser asks. */
  readonly html?: () => string;
}

export const JSON_FIRST = ['application/json', 'application/xml'] as const;
export const XML_FIRST = ['application/xml', 'application/json'] as const;

export interface Representation {
  readonly type: string;
  readonly body: Buffer;
  readonly etag?: string;
}

/** The media types a document can be served in. */
export function offersOf(document: Document): readonly string[] {
  const types = document.types ?? JSON_FIRST;
  return document.html === undefined ? types : [...types, 'text/html'];
}

/** Writes a document in one of its media types. `absolute` makes a URI of a path. */
export function represent(document: Document, type: string, absolute: (href: string) => string): Representation {
  const body = Buffer.from(write(document, type, absolute));
  const shown = type === 'text/html' ? 'text/html; charset=utf-8' : type;
  return document.version === undefined
    ? { type: shown, body }
    : { type: shown, body, etag: `"${document.version}-${type.replace(/^.*[/+]/, '')}.${fingerprint(body)}"` };
}

/** What a version does not tell, such as counts and hrefs, is part of a document, too: a strong ETag changes with it. */
function fingerprint(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 12);
}

function write(document: Document, type: string, absolute: (href: string) => string): string {
  if (type === 'text/html' && document.html !== undefined) return document.html();
  if (type.endsWith('json')) return `${JSON.stringify(toJson(document, absolute), null, 2)}\n`;
  return `${renderXml(document.xml === undefined ? toXml(document, absolute) : document.xml(absolute))}\n`;
}

export function toJson(document: Document, absolute: (href: string) => string): Record<string, unknown> {
  const json: Record<string, unknown> = { ...document.fields };
  if (document.items !== undefined) json.items = document.items.map((item) => toJson(item, absolute));
  json.links = document.links.map((link) => shownLink(link, absolute));
  return json;
}

export function toXml(document: Document, absolute: (href: string) => string): XmlNode {
  const attributes: Record<string, string | undefined> = {};
  const children: XmlNode[] = [];
  const own = new Set(document.elements?.map(({ name }) => name));
  for (const [name, value] of Object.entries(document.fields)) {
    if (value === undefined || value === null || own.has(name)) continue;
    if (document.attributes?.includes(name)) attributes[name] = String(value);
    else children.push(...fieldToXml(name, value));
  }
  children.push(...(document.elements ?? []));
  for (const { rel, href, type, title, method } of document.links) {
    children.push({ name: 'link', namespace: ATOM, attributes: { rel, href: absolute(href), type, title, method } });
  }
  for (const item of document.items ?? []) children.push(toXml(item, absolute));
  return { name: document.name, attributes, children };
}

function fieldToXml(name: string, value: Field): XmlNode[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((each) => fieldToXml(name, each));
  if (typeof value !== 'object') return [{ name, children: [String(value)] }];
  return [{ name, children: Object.entries(value).flatMap(([inner, each]) => fieldToXml(inner, each)) }];
}
