/** Writes XML. Whatever strings go in, what comes out is well-formed XML 1.0. */
import type { ForeignAttribute } from './xml.ts';

/** An element to be written. A parsed `XmlElement` is one too. */
export interface XmlNode {
  readonly name: string;
  /** Left out: the parent's. Written as a default namespace where it differs from what is in force. */
  readonly namespace?: string;
  /** Attributes that are undefined are left out. */
  readonly attributes?: Readonly<Record<string, string | undefined>>;
  readonly children?: readonly (XmlNode | string)[];
  /** The four that only a parsed element has; `content` then stands in for `children`, which lack the text. */
  readonly content?: readonly (XmlNode | string)[];
  readonly prefix?: string;
  readonly foreign?: readonly ForeignAttribute[];
  readonly declarations?: Readonly<Record<string, string>>;
}

/**
 * Namespaces in force: those of this element, then those outside it. A chain rather than a copy per element, because
 * a document with many declarations would make copying quadratic, while the chain is no longer than the depth.
 */
interface Scope {
  readonly own: ReadonlyMap<string, string>;
  readonly outer?: Scope;
}

const outermost: Scope = {
  own: new Map([
    ['', ''],
    ['xml', 'http://www.w3.org/XML/1998/namespace'],
  ]),
};

function lookUp(scope: Scope, prefix: string): string | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const uri = at.own.get(prefix);
    if (uri !== undefined) return uri;
  }
  return undefined;
}

/** Writes a document with its XML declaration. */
export function renderXml(root: XmlNode): string {
  return `<?xml version="1.0" encoding="UTF-8"?>${renderFragment(root)}`;
}

/** Writes one element without the XML declaration. `within` is the default namespace of where it will stand. */
export function renderFragment(root: XmlNode, within = ''): string {
  const scope = within === '' ? outermost : { own: new Map([['', within]]), outer: outermost };
  return renderNode(root, within, scope);
}

function renderNode(node: XmlNode, inherited: string, outer: Scope): string {
  const namespace = node.namespace ?? inherited;
  // No prefix can stand for "no namespace".
  const prefix = namespace === '' ? '' : (node.prefix ?? '');
  const added = new Map<string, string>();
  const bind = (name: string, uri: string) => {
    if ((added.get(name) ?? lookUp(outer, name)) !== uri) added.set(name, uri);
  };
  for (const name in node.declarations) bind(name, node.declarations[name] ?? '');
  bind(prefix, namespace);

  let attributes = '';
  for (const name in node.attributes) {
    const value = node.attributes[name];
    if (value !== undefined) attributes += renderAttribute('', name, value);
  }
  for (const attribute of node.foreign ?? []) {
    bind(attribute.prefix, attribute.namespace);
    attributes += renderAttribute(attribute.prefix, attribute.name, attribute.value);
  }
  let declarations = '';
  for (const [name, uri] of added) {
    declarations += name === '' ? ` xmlns="${escapeAttribute(uri)}"` : renderAttribute('xmlns', name, uri);
  }

  const tag = qualified(prefix, node.name);
  const scope = added.size === 0 ? outer : { own: added, outer };
  let content = '';
  for (const child of node.content ?? node.children ?? []) {
    content += typeof child === 'string' ? escapeText(child) : renderNode(child, namespace, scope);
  }
  const start = `<${tag}${declarations}${attributes}`;
  return content === '' ? `${start}/>` : `${start}>${content}</${tag}>`;
}

function renderAttribute(prefix: string, name: string, value: string): string {
  return ` ${qualified(prefix, name)}="${escapeAttribute(value)}"`;
}

// Names without a colon, as XML 1.0 (fifth edition) and Namespaces in XML define them.
const nameStart =
  'A-Z_a-z\\xC0-\\xD6\\xD8-\\xF6\\xF8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C\\u200D\\u2070-\\u218F\\u2C00-\\u2FEF' +
  '\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}';
const namePattern = new RegExp(`^[${nameStart}][${nameStart}\\-.0-9\\xB7\\u0300-\\u036F\\u203F\\u2040]*$`, 'u');

/** True when a string can be the name of an element or attribute. */
export function isXmlName(name: string): boolean {
  return namePattern.test(name);
}

/** Names are the program's own or were parsed; a bad one is a mistake in the program, not in the input. */
function qualified(prefix: string, name: string): string {
  if (!isXmlName(name)) throw new TypeError(`not an XML name: ${JSON.stringify(name)}`);
  if (prefix === '') return name;
  if (!isXmlName(prefix)) throw new TypeError(`not an XML prefix: ${JSON.stringify(prefix)}`);
  return `${prefix}:${name}`;
}

// Everything that is not allowed in XML 1.0, lone halves of surrogate pairs included.
const forbidden = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
const textSpecial = /[&<>\r]/g;
const attributeSpecial = /[&<>"\t\n\r]/g;

// A carriage return, and in an attribute any line break or tab, would be normalised away if it stood there bare.
const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};
const escapeOf = (char: string): string => escapes[char] ?? char;

function escapeText(text: string): string {
  return text.replace(forbidden, '\uFFFD').replace(textSpecial, escapeOf);
}

function escapeAttribute(value: string): string {
  return value.replace(forbidden, '\uFFFD').replace(attributeSpecial, escapeOf);
}
