/** Reads small documents that clients send: JSON, XML and forms yield the same plain fields. */
import { Problem, pointerTo, shown } from '../problems.ts';
import { isUtf8, readMediaType } from './field-reader.ts';
import { FormError, parseForm } from './forms.ts';
import { parseJson } from './json.ts';
import type { Request } from './request.ts';
import { ATOM, parseXml, type XmlElement, XmlEncodingError, XmlError } from './xml.ts';

/** Values are texts, except in JSON, which has kinds of its own. */
export type InputFields = Readonly<Record<string, unknown>>;

export interface InputOptions {
  /** The XML media types that are read besides application/xml and text/xml. */
  readonly xmlTypes?: readonly string[];
  /** The root element XML must have. */
  readonly element: string;
  readonly forms?: boolean;
}

const FORM = 'application/x-www-form-urlencoded';

export function acceptedTypes(options: InputOptions): string[] {
  const types = ['application/json', 'application/xml', ...(options.xmlTypes ?? [])];
  return options.forms === false ? types : [...types, FORM];
}

/** The media type without its parameters, in lower case. */
function mediaTypeOf(request: Request): string | undefined {
  return request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
}

/** Reads the body's fields. An empty body has none. */
export function readFields(request: Request, options: InputOptions): InputFields {
  if (request.body.length === 0) return {};
  const type = readableType(request, acceptedTypes(options));
  if (type === 'application/json' || type?.endsWith('+json')) return readJson(request.body);
  if (type === 'application/xml' || type === 'text/xml' || (type !== undefined && options.xmlTypes?.includes(type))) {
    return xmlFields(readXml(request.body, options.element, acceptedTypes(options)));
  }
  if (type === FORM && options.forms !== false) return readForm(request.body);
  throw unsupported(type, acceptedTypes(options));
}

/** What is read once and then remembered is as short as this, and there are no more of them. */
const SHORT = 100;
const MOST_REMEMBERED = 64;

/**
 * A reader that remembers what it has made of short bodies: many clients send the same few words again and again. What it
 * gives must not be changed by anybody.
 */
export function remembering<T>(read: (request: Request) => T): (request: Request) => T {
  const known = new Map<string, T>();
  return (request) => {
    const { 'content-type': type = '', 'content-encoding': coding } = request.headers;
    if (request.body.length > SHORT || type.length > SHORT || coding !== undefined) return read(request);
    const words = `${type}\n${request.body.toString('latin1')}`;
    const before = known.get(words);
    if (before !== undefined) return before;
    const made = read(request);
    if (known.size === MOST_REMEMBERED) known.clear();
    known.set(words, made);
    return made;
  };
}

/**
 * The media type of a body that is read here, as all are but a message's own. Every reader of bodies comes through here
 * first: throws 415 when the body was compressed, or is JSON or XML in another charset than UTF-8. `what` names such bodies.
 */
export function readableType(request: Request, accepted: readonly string[], what = 'a document'): string | undefined {
  const coding = request.headers['content-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'identity') {
    const type = mediaTypeOf(request);
    const charset = /(?:json|xml)$/.test(type ?? '') ? foreignCharset(request) : undefined;
    if (charset !== undefined) throw notUtf8(`${type} is read in UTF-8, not as ${shown(charset)}`, accepted);
    return type;
  }
  throw new Problem('unsupported-media-type', `${what} is read without Content-Encoding, not as ${shown(coding)}`, {
    headers: { 'Accept-Encoding': 'identity', 'Accept-Post': accepted.join(', ') },
  });
}

/** The charset that the body is said to have, if that is another one than UTF-8. */
function foreignCharset({ headers: { 'content-type': type } }: Request): string | undefined {
  if (type === undefined || !type.includes(';')) return undefined;
  const parameters = readMediaType(type)?.parameters ?? [];
  return parameters.find(({ name, value }) => name === 'charset' && !isUtf8(value))?.value;
}

const notUtf8 = (found: string, accepted: readonly string[]): Problem =>
  new Problem('unsupported-media-type', `${found}; send it in UTF-8`, {
    headers: { 'Accept-Post': accepted.join(', ') },
  });

export function unsupported(type: string | undefined, accepted: readonly string[]): Problem {
  const list = accepted.join(', ');
  const found = type === undefined ? 'the body has no Content-Type' : `${type} is not understood here`;
  return new Problem('unsupported-media-type', `${found}; send one of ${list}`, { headers: { 'Accept-Post': list } });
}

function readJson(body: Buffer): InputFields {
  const value = parseJson(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Problem('bad-body', 'the body must be a JSON object');
  }
  return value as InputFields;
}

/** `accepted`: what else could be sent, for a client whose XML says that it is not in UTF-8 (415). */
export function readXml(body: Buffer, element: string, accepted: readonly string[]): XmlElement {
  let root: XmlElement;
  try {
    root = parseXml(body);
  } catch (error) {
    if (error instanceof XmlEncodingError) throw notUtf8(error.message, accepted);
    if (error instanceof XmlError)
      throw new Problem('bad-body', `the body is not XML that can be read: ${error.message}`);
    throw error;
  }
  if (root.name !== element) {
    throw new Problem('invalid', `the root element must be <${element}>, not <${shown(root.name)}>`, {
      errors: [{ pointer: '/', detail: `must be <${element}>` }],
    });
  }
  return root;
}

/** Attributes and child elements as fields; links are read where they are needed. */
export function xmlFields(root: XmlElement): InputFields {
  const fields: Record<string, unknown> = Object.create(null);
  Object.assign(fields, root.attributes);
  for (const child of root.children) {
    if (child.name === 'link' && (child.namespace === ATOM || child.namespace === '')) continue;
    if (child.name in fields) throw new Problem('invalid', `<${shown(child.name)}> must be given once`);
    fields[child.name] = isPlain(child) ? child.text.trim() : xmlFields(child);
  }
  return fields;
}

/** An element that says all it has to say in its text. `<product id="p1"/>` says it in its attributes. */
function isPlain({ children, text, attributes }: XmlElement): boolean {
  if (children.length > 0) return false;
  return text.trim() !== '' || Object.keys(attributes).length === 0;
}

/** What a body is that says it is a form, as curl has it say unless told otherwise. */
const lookAlikes: Readonly<Record<string, string>> = { '{': 'JSON', '[': 'JSON', '<': 'XML' };

function readForm(body: Buffer): InputFields {
  const found = lookAlikes[body.toString('latin1', 0, 100).trimStart().charAt(0)];
  if (found !== undefined) {
    const detail = `the body looks like ${found}, but its Content-Type is ${FORM}`;
    throw new Problem('bad-body', `${detail}; send it with Content-Type: application/${found.toLowerCase()}`);
  }
  let form: Map<string, string[]>;
  try {
    form = parseForm(body);
  } catch (error) {
    if (error instanceof FormError) throw new Problem('bad-body', `the form cannot be read: ${error.message}`);
    throw error;
  }
  const fields: Record<string, unknown> = Object.create(null);
  for (const [name, values] of form) {
    if (values.length > 1) {
      throw new Problem('invalid', `${shown(name)} must be given once`, {
        errors: [{ pointer: pointerTo(name), detail: 'must be given once' }],
      });
    }
    fields[name] = values[0];
  }
  return fields;
}
