/** Atom (RFC 4287) as far as we read it: a feed as a batch of messages, and link elements. */
import { isUtf8, readMediaType } from './field-reader.ts';
import { ATOM, renderFragment, type XmlElement } from './xml.ts';

/** The content of one entry, ready to be a message. */
export interface AtomMessage {
  contentType: string;
  body: Buffer;
}

/** A link element. */
export interface AtomLink {
  rel: string;
  href: string;
  type?: string;
  title?: string;
}

/** What a feed may have at most; `bytes` counts the contents as they come out. */
export interface AtomLimits {
  entries: number;
  bytes: number;
}

/** Readable XML that is not the Atom we expect. `entry` is the 1-based number of the bad entry, 0 for none. */
export class AtomError extends Error {
  readonly kind: 'unacceptable' | 'too-many-entries' | 'too-large';
  readonly entry: number;

  constructor(message: string, entry = 0, kind: AtomError['kind'] = 'unacceptable') {
    super(entry === 0 ? message : `entry ${entry}: ${message}`);
    this.name = 'AtomError';
    this.kind = kind;
    this.entry = entry;
  }
}

const XHTML = 'http://www.w3.org/1999/xhtml';

// Inherited namespace declarations are written into each content, so what comes out can be larger than what came in.
const defaultLimits: AtomLimits = { entries: 1000, bytes: 64 * 1024 * 1024 };

/** Reads the content of each entry of a feed, in order; throws `AtomError`. */
export function readAtomFeed(root: XmlElement, limits: Partial<AtomLimits> = {}): AtomMessage[] {
  const { entries: maxEntries, bytes: maxBytes } = { ...defaultLimits, ...limits };
  if (!isAtom(root, 'feed')) throw new AtomError(`expected an Atom feed, not ${shown(root)}`);
  const entries = root.children.filter((child) => isAtom(child, 'entry'));
  if (entries.length > maxEntries) {
    throw new AtomError(`the feed has more than ${maxEntries} entries`, 0, 'too-many-entries');
  }
  let bytes = 0;
  return entries.map((entry, index) => {
    const fail = (message: string): never => {
      throw new AtomError(message, index + 1);
    };
    const contents = entry.children.filter((child) => isAtom(child, 'content'));
    const [content] = contents;
    if (content === undefined) return fail('it has no content element');
    if (contents.length > 1) fail('it has more than one content element');
    const message = readContent(content, [root, entry, content], fail);
    bytes += message.body.length;
    if (bytes > maxBytes) throw new AtomError(`the contents are larger than ${maxBytes} bytes`, index + 1, 'too-large');
    return message;
  });
}

type Fail = (message: string) => never;

function readContent(content: XmlElement, ancestors: readonly XmlElement[], fail: Fail): AtomMessage {
  if (content.attributes.src !== undefined) fail('content by reference (src) is not accepted; put the content inline');
  const type = (content.attributes.type ?? 'text').trim();
  if (type === 'text') return textMessage('text/plain;charset=utf-8', content, fail);
  if (type === 'html') return textMessage('text/html', content, fail);
  if (type === 'xhtml') {
    const div = onlyChild(content, type, fail);
    if (div.name !== 'div' || div.namespace !== XHTML)
      fail(`content of type xhtml must be one div element of ${XHTML}`);
    return xmlMessage('application/xhtml+xml', div, ancestors);
  }

  const media = /^[ -~]*$/.test(type) ? readMediaType(type) : undefined;
  if (media === undefined || media.essence.includes('*')) {
    return fail(`the content type ${JSON.stringify(type.slice(0, 60))} is neither text, html, xhtml nor a media type`);
  }
  const isXml = media.essence.endsWith('+xml') || media.essence.endsWith('/xml');
  const charset = media.parameters.find(({ name }) => name === 'charset')?.value;
  if ((isXml || media.essence.startsWith('text/')) && charset !== undefined && !isUtf8(charset)) {
    fail(`text is handed on in UTF-8, so the type cannot have the charset ${charset.slice(0, 40)}`);
  }
  if (isXml) return xmlMessage(type, onlyChild(content, type, fail), ancestors);
  if (media.essence.startsWith('text/')) return textMessage(type, content, fail);
  if (content.children.length > 0) fail(`content of type ${media.essence} must be base64, without elements`);
  return { contentType: type, body: decodeBase64(content.text, media.essence, fail) };
}

function textMessage(contentType: string, content: XmlElement, fail: Fail): AtomMessage {
  if (content.children.length > 0) fail('content of a text type must be text, with any markup escaped');
  return { contentType, body: Buffer.from(content.text) };
}

/**
 * Takes the element out of the feed. The namespaces declared around it go with it, because a prefix may also stand
 * inside a value, where it cannot be seen.
 */
function xmlMessage(contentType: string, element: XmlElement, ancestors: readonly XmlElement[]): AtomMessage {
  const declarations: Record<string, string> = Object.create(null);
  for (const { declarations: own } of [...ancestors, element]) Object.assign(declarations, own);
  return { contentType, body: Buffer.from(renderFragment({ ...element, declarations })) };
}

function onlyChild(content: XmlElement, type: string, fail: Fail): XmlElement {
  const [child] = content.children;
  if (child === undefined || content.children.length > 1 || content.text.trim() !== '') {
    return fail(`content of type ${type.slice(0, 60)} must be exactly one element`);
  }
  return child;
}

function decodeBase64(text: string, type: string, fail: Fail): Buffer {
  const digits = text.replace(/[ \t\r\n]+/g, '');
  const body = Buffer.from(digits, 'base64');
  // Node skips what it does not know; only what encodes back the same was base64.
  if (body.toString('base64') !== digits) fail(`content of type ${type} must be base64, which this is not`);
  return body;
}

/** Reads a document that is one link element, in the Atom namespace or in none; throws `AtomError`. */
export function readAtomLink(root: XmlElement): AtomLink {
  if (!isAtom(root, 'link')) throw new AtomError(`expected one Atom link element, not ${shown(root)}`);
  const { rel, type, title } = root.attributes;
  const href = root.attributes.href?.trim() ?? '';
  if (href === '') throw new AtomError('the link element has no href');
  // RFC 4287: a link without a relation is an alternate.
  const link: AtomLink = { rel: rel?.trim() ?? 'alternate', href };
  if (type !== undefined) link.type = type.trim();
  if (title !== undefined) link.title = title;
  return link;
}

/** Reads the link elements that stand directly in an element. */
export function readAtomLinks(parent: XmlElement): AtomLink[] {
  return parent.children.filter((child) => isAtom(child, 'link')).map(readAtomLink);
}

function isAtom(element: XmlElement, name: string): boolean {
  return element.name === name && (element.namespace === ATOM || element.namespace === '');
}

function shown(element: XmlElement): string {
  const namespace = element.namespace === '' ? '' : ` of ${element.namespace.slice(0, 80)}`;
  return `the element ${element.name.slice(0, 60)}${namespace}`;
}
