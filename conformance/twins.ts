import type { Link } from './links.ts';
import { ATOM, type Element } from './xml.ts';

/** What a document says, whether it was written in JSON or in XML. All values are texts. */
export type Content = { fields: Fields; links: Link[]; items: Content[] };
export type Fields = { [name: string]: string | Fields | (string | Fields)[] };

type Json = { [name: string]: unknown };

const LINK_MEMBERS = ['rel', 'href', 'method', 'type', 'title'] as const;

/** The content of a JSON document: `links` and `items` apart from its fields. */
export function contentOfJson(document: Json): Content {
  const { links, items, ...fields } = document;
  if (!Array.isArray(links)) throw new Error('the document has no list "links"');
  return {
    fields: jsonFields(fields),
    links: links.map(linkOfJson),
    items: Array.isArray(items) ? items.map((item: Json) => contentOfJson(item)) : [],
  };
}

function linkOfJson(link: Json): Link {
  const unknown = Object.keys(link).filter((name) => !(LINK_MEMBERS as readonly string[]).includes(name));
  if (unknown.length > 0) throw new Error(`a link has members that links do not have: ${unknown.join(', ')}`);
  if (typeof link.rel !== 'string' || typeof link.href !== 'string') throw new Error('a link needs rel and href');
  return link as Link;
}

function jsonFields(fields: Json): Fields {
  const texts = (value: unknown): string | Fields =>
    typeof value === 'object' && value !== null ? jsonFields(value as Json) : String(value);
  const result: Fields = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === null) continue;
    // A list of one and a single element look alike in XML.
    if (Array.isArray(value) && value.length !== 1) result[name] = value.map(texts);
    else result[name] = texts(Array.isArray(value) ? value[0] : value);
  }
  return result;
}

/** The content of an XML document. Elements of the name given are items of a list. */
export function contentOfXml(root: Element, item?: string): Content {
  const content: Content = { fields: { ...root.attributes }, links: [], items: [] };
  for (const child of root.children) {
    if (child.name === 'link' && child.namespace === ATOM) content.links.push(linkOfXml(child));
    else if (child.name === item) content.items.push(contentOfXml(child));
    else add(content.fields, child.name, xmlField(child));
  }
  return content;
}

function linkOfXml({ attributes }: Element): Link {
  const members = LINK_MEMBERS.flatMap((name) => (attributes[name] === undefined ? [] : [[name, attributes[name]]]));
  return Object.fromEntries(members) as Link;
}

function xmlField(element: Element): string | Fields {
  if (element.children.length === 0) return element.text;
  const fields: Fields = {};
  for (const child of element.children) add(fields, child.name, xmlField(child));
  return fields;
}

function add(fields: Fields, name: string, value: string | Fields): void {
  const present = fields[name];
  if (present === undefined) fields[name] = value;
  else if (Array.isArray(present)) present.push(value);
  else fields[name] = [present, value];
}
