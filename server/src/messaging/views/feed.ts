/** Several messages as an Atom feed (RFC 4287): an entry for each, with its content, its fields and its links. */
import { type Answer, NO_STORE } from '../../http/answer.ts';
import { WAYPOST, writeContent } from '../../http/atom-content.ts';
import type { Link } from '../../http/links.ts';
import { timeOf } from '../../http/times.ts';
import { ATOM, renderFragment, renderXml, type XmlNode } from '../../http/xml.ts';
import type { StoredField } from '../forwarded-fields.ts';
import { destinationPath } from './links.ts';
import { FOR_BROWSERS, type MessageView, messageFields, messageLinks, sentWith } from './messages.ts';

type Absolute = (href: string) => string;

const atom = (name: string, ...children: readonly (XmlNode | string)[]): XmlNode => ({
  name,
  namespace: ATOM,
  children,
});

const atomLinks = (links: readonly Link[], absolute: Absolute): XmlNode[] =>
  links.map(({ rel, href, type, title }) => ({
    name: 'link',
    namespace: ATOM,
    attributes: { rel, href: absolute(href), type, title },
  }));

/** XML among the contents is inlined up to so many bytes: to know whether it can be, it has to be parsed, which blocks. */
const MOST_INLINED = 64 * 1024;

const END = '</feed>';

export const ATOM_TYPE = 'application/atom+xml';

/** Several messages in one answer, each an entry with its own fields and links. `base` makes addresses absolute. */
export function deliveredFeed(views: readonly MessageView[], base: string, links: readonly Link[]): Answer {
  const absolute = (path: string): string => (path.startsWith('/') ? base + path : path);
  const body = renderFeed(views, links, absolute);
  // A browser runs what stands in XML by its namespaces, so what goes for one message goes for the feed.
  return { status: 200, headers: [...FOR_BROWSERS, NO_STORE], links, content: { type: ATOM_TYPE, body } };
}

/** The feed of at least one message. Entry by entry, so that no more than one stands in memory twice. */
function renderFeed(views: readonly MessageView[], links: readonly Link[], absolute: Absolute): Buffer {
  const [first] = views;
  if (first === undefined) throw new RangeError('a feed of no messages');
  const { kind, name } = first.destination;
  const head = renderXml(
    atom(
      'feed',
      atom('id', absolute(destinationPath(kind, name))),
      atom('title', `Messages of the ${kind} ${name}`),
      atom('author', atom('name', 'Waypost')),
      atom('updated', timeOf(views.reduce((latest, { message }) => Math.max(latest, message.posted), 0))),
      ...atomLinks(links, absolute),
    ),
  );
  const pieces = [Buffer.from(`${head.slice(0, -END.length)}\n`)];
  const room = { bytes: MOST_INLINED };
  for (const view of views) {
    const { element, form } = writeContent(view.message, room);
    const isEncoded = form === 'base64';
    pieces.push(Buffer.from(`${renderFragment(entryOf(view, element, isEncoded, absolute), ATOM)}\n`));
  }
  pieces.push(Buffer.from(`${END}\n`));
  return Buffer.concat(pieces);
}

function entryOf(view: MessageView, content: XmlNode, isEncoded: boolean, absolute: Absolute): XmlNode {
  const { message, path, publicId } = view;
  const sent = sentWith(message);
  return atom(
    'entry',
    atom('id', absolute(path)),
    atom('title', publicId),
    atom('updated', timeOf(message.posted)),
    ...atomLinks(messageLinks(view, sent), absolute),
    ...messageFields(view, sent)
      .filter((field) => !FOR_BROWSERS.includes(field))
      .map(fieldElement),
    // RFC 4287 wants words for those who cannot read base64.
    ...(isEncoded ? [atom('summary', `${message.contentType ?? 'no type'}, ${sizeOf(message.body)}`)] : []),
    content,
  );
}

const fieldElement = ([name, value]: StoredField): XmlNode => ({
  name: 'field',
  namespace: WAYPOST,
  attributes: { name },
  children: [textOf(value)],
});

/** A field is bytes, each shown as one character; where they are UTF-8, that is what the sender meant. */
function textOf(value: string): string {
  if (!/[\x80-\xFF]/.test(value)) return value;
  const text = Buffer.from(value, 'latin1').toString();
  return text.includes('\uFFFD') ? value : text;
}

const sizeOf = ({ length }: Buffer): string => `${length} byte${length === 1 ? '' : 's'}`;
