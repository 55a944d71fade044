/** Atom (RFC 4287) as far as we read it: a feed as a batch of messages, and link elements. */
import { type AtomMessage, readContent } from './atom-content.ts';
import { ATOM, type XmlElement } from './xml.ts';

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
