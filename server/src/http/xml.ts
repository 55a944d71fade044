/**
 * XML for a service that meets hostile input: a small reader on top of saxes and a small writer. The reader knows no
 * DOCTYPE, hence no entities of the document's own, and bounds everything that input could make large.
 */
import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';
import { isUtf8 } from './field-reader.ts';

export { isXmlName, renderFragment, renderXml, type XmlNode } from './xml-render.ts';

/** The Atom namespace, in which links stand. */
export const ATOM = 'http://www.w3.org/2005/Atom';

/** An attribute in a namespace, such as `xml:lang`. */
export interface ForeignAttribute {
  readonly prefix: string;
  readonly name: string;
  readonly namespace: string;
  readonly value: string;
}

/** An element as it was read. It can be handed to `renderXml` as it is. */
export interface XmlElement {
  /** The local name. */
  name: string;
  /** '' when it is in none. */
  namespace: string;
  prefix: string;
  /** The attributes without a namespace, by name; the record has no prototype. */
  attributes: Record<string, string>;
  /** The attributes in a namespace. */
  foreign: readonly ForeignAttribute[];
  /** The namespaces declared on this very element, by prefix ('' is the default one). */
  declarations: Readonly<Record<string, string>>;
  children: XmlElement[];
  /** The text that stands directly in this element, joined. */
  text: string;
  /** Children and text in document order; no two strings in a row. */
  content: (XmlElement | string)[];
}

/** What a document may have at most. */
export interface XmlLimits {
  depth: number;
  bytes: number;
  /** Elements and attributes together: each costs far more memory than its bytes. */
  nodes: number;
}

/** An unreadable document; the message says what is wrong and where. */
export class XmlError extends Error {
  readonly line: number;
  readonly column: number;

  constructor(message: string, line = 1, column = 1) {
    super(`${message} (line ${line}, column ${column})`);
    this.name = 'XmlError';
    this.line = line;
    this.column = column;
  }
}

/** A document in an encoding that is not read here. */
export class XmlEncodingError extends XmlError {
  constructor(encoding: string, line?: number, column?: number) {
    super(`the encoding must be UTF-8, not ${encoding.slice(0, 40)}`, line, column);
    this.name = 'XmlEncodingError';
  }
}

const defaultLimits: XmlLimits = { depth: 64, bytes: 10 * 1024 * 1024, nodes: 250_000 };

// The parser builds one key of namespace and name for each prefixed attribute, so a long namespace times many
// attributes would be a quadratic attack. No namespace in use comes near this length.
const maxNamespaceLength = 1024;

const noForeign: readonly ForeignAttribute[] = Object.freeze([]);
const noDeclarations: Readonly<Record<string, string>> = Object.freeze(Object.create(null));

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Reads a document, and throws `XmlError` when it cannot be read or goes past a limit. */
export function parseXml(input: string | Buffer, limits: Partial<XmlLimits> = {}): XmlElement {
  const { depth, bytes, nodes } = { ...defaultLimits, ...limits };
  const text = decode(input, bytes);
  // Version 1.1 documents are read by the rules of 1.0, which allows fewer characters.
  const parser = new SaxesParser({ xmlns: true, position: true, defaultXMLVersion: '1.0', forceXMLVersion: true });
  const open: XmlElement[] = [];
  let root: XmlElement | undefined;
  let nodeCount = 0;

  const fail = (message: string): never => {
    throw new XmlError(message, parser.line, Math.max(parser.column, 1));
  };
  const count = () => {
    nodeCount += 1;
    if (nodeCount > nodes) fail(`the document has more than ${nodes} elements and attributes`);
  };
  const addText = (piece: string) => {
    const element = open.at(-1);
    if (element === undefined) return;
    element.text += piece;
    const last = element.content.length - 1;
    if (typeof element.content[last] === 'string') element.content[last] += piece;
    else element.content.push(piece);
  };

  parser.on('error', (error) => fail(tidy(error.message)));
  parser.on('doctype', () => fail('a DOCTYPE is not accepted'));
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !isUtf8(encoding)) {
      throw new XmlEncodingError(encoding, parser.line, Math.max(parser.column, 1));
    }
  });
  parser.on('attribute', ({ name, prefix, value }) => {
    count();
    if ((prefix === 'xmlns' || name === 'xmlns') && value.length > maxNamespaceLength) {
      fail(`a namespace may not be longer than ${maxNamespaceLength} characters`);
    }
  });
  parser.on('opentagstart', () => {
    count();
    if (open.length >= depth) fail(`elements are nested deeper than ${depth}`);
  });
  parser.on('opentag', (tag) => {
    const element = elementOf(tag);
    const parent = open.at(-1);
    if (parent === undefined) root = element;
    else {
      parent.children.push(element);
      parent.content.push(element);
    }
    open.push(element);
  });
  parser.on('closetag', () => {
    open.pop();
  });
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.write(text).close();

  if (root === undefined) throw new XmlError('the document has no root element');
  return root;
}

function decode(input: string | Buffer, bytes: number): string {
  const size = typeof input === 'string' ? Buffer.byteLength(input) : input.length;
  if (size > bytes) throw new XmlError(`the document is larger than ${bytes} bytes`);
  if (typeof input === 'string') {
    if (!input.isWellFormed()) throw new XmlError('the document contains half of a surrogate pair');
    return input;
  }
  const mark = input.length >= 2 ? input.readUInt16BE(0) : 0;
  if (mark === 0xfeff || mark === 0xfffe) throw new XmlEncodingError('UTF-16');
  try {
    return decoder.decode(input);
  } catch {
    throw new XmlError('the document is not valid UTF-8');
  }
}

/** Takes the position off (it is added in our own form) and keeps a quoted name from making the message endless. */
function tidy(message: string): string {
  return message
    .slice(0, 200)
    .replace(/^\d+:\d+: /, '')
    .replace(/\.$/, '');
}

function elementOf(tag: SaxesTagNS): XmlElement {
  const attributes: Record<string, string> = Object.create(null);
  let foreign: ForeignAttribute[] | undefined;
  let declared = false;
  for (const name in tag.attributes) {
    const attribute = tag.attributes[name] as SaxesAttributeNS;
    if (attribute.prefix === 'xmlns' || name === 'xmlns') declared = true;
    else if (attribute.prefix === '') attributes[name] = attribute.value;
    else {
      foreign ??= [];
      foreign.push({
        prefix: attribute.prefix,
        name: attribute.local,
        namespace: attribute.uri,
        value: attribute.value,
      });
    }
  }
  return {
    name: tag.local,
    namespace: tag.uri,
    prefix: tag.prefix,
    attributes,
    foreign: foreign ?? noForeign,
    declarations: declared ? tag.ns : noDeclarations,
    children: [],
    text: '',
    content: [],
  };
}
