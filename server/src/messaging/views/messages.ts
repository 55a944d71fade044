/** Messages as answers: their content, the fields that tell about them, their links. */
import { type Answer, NO_STORE, type Offer } from '../../http/answer.ts';
import { formatLinks, type Link } from '../../http/links.ts';
import { renderMultipart } from '../../http/multipart.ts';
import { timeOf } from '../../http/times.ts';
import { paths } from '../../paths.ts';
import type { StoredMessage } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import { linksToKeep, type StoredField } from '../forwarded-fields.ts';
import { ABOUT, DEAD_LETTER_ORIGIN, DEAD_LETTER_REASON, type MessageState } from '../message.ts';
import { destinationPath, replyLinks } from './links.ts';

export interface MessageView {
  readonly message: StoredMessage;
  readonly destination: Destination;
  /** The id under which clients know it. */
  readonly publicId: string;
  /** Its own address. */
  readonly path: string;
  readonly state: MessageState;
  /** How often it was handed out; undefined in a topic, where reading takes nothing. */
  readonly deliveries?: number | undefined;
  /** The word for this delivery, when it can be settled. */
  readonly delivery?: string | undefined;
  /** The message's position in a topic, as clients see it. */
  readonly position?: string | undefined;
}

/** What the sender gave the message: fields, links, and what Waypost noted with a dead letter. */
export interface Sent {
  readonly fields: readonly StoredField[];
  readonly links: readonly Link[];
  readonly origin?: string | undefined;
  readonly reason?: string | undefined;
  readonly about?: string | undefined;
}

const NOTHING_SENT: Sent = { fields: [], links: [] };

export function sentWith({ headers }: StoredMessage): Sent {
  if (headers === '[]') return NOTHING_SENT;
  const all = JSON.parse(headers) as StoredField[];
  const fieldNamed = (wanted: string): string | undefined => all.find(([name]) => name === wanted)?.[1];
  return {
    fields: all.filter(([name]) => name !== 'Link' && !name.startsWith(':')),
    links: linksToKeep(fieldNamed('Link')),
    origin: fieldNamed(DEAD_LETTER_ORIGIN),
    reason: fieldNamed(DEAD_LETTER_REASON),
    about: fieldNamed(ABOUT),
  };
}

/** A message is the sender's word, not ours: a browser must neither guess its type nor run it in our name. */
export const FOR_BROWSERS: readonly StoredField[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Content-Security-Policy', 'sandbox'],
];

export function messageFields({ message, publicId, state, deliveries }: MessageView, sent: Sent): StoredField[] {
  const fields: StoredField[] = [
    ['Message-Id', publicId],
    ['Message-State', state],
    ['Message-Posted', timeOf(message.posted)],
    ...FOR_BROWSERS,
  ];
  if (deliveries !== undefined) fields.push(['Delivery-Count', String(deliveries)]);
  if (sent.reason !== undefined) fields.push(['Message-Dead-Reason', sent.reason]);
  for (const [name, value] of sent.fields) fields.push([name, value]);
  return fields;
}

export function messageLinks({ destination, publicId, path, delivery, position }: MessageView, sent: Sent): Link[] {
  const { kind, name } = destination;
  const links: Link[] = [
    { rel: 'self', href: path },
    { rel: 'generator', href: destinationPath(kind, sent.origin ?? name) },
  ];
  if (sent.about !== undefined) links.push({ rel: 'about', href: sent.about });
  if (delivery !== undefined) {
    const href = paths.acknowledgement.href({ name, 'message-id': publicId, token: delivery });
    links.push({ rel: 'acknowledgement', href, method: 'POST' });
  }
  if (position !== undefined) links.push({ rel: 'next', href: paths.next.href({ name, position }) });
  for (const link of sent.links) {
    links.push(link);
    // Of a way to reply that the sender named itself there is no second one.
    const isNamed = ({ rel }: Link): boolean => sent.links.some((each) => each.rel === rel);
    if (link.rel === 'reply-to') links.push(...replyLinks(link.href).filter((added) => !isNamed(added)));
  }
  return links;
}

/** Whoever leases a message says next what became of it, and whoever reads a topic goes on to the next message. */
function offerOf(
  { destination, publicId, delivery, position }: MessageView,
  links: readonly Link[],
): Offer | undefined {
  const { name } = destination;
  const hrefOf = (wanted: string): string => links.find(({ rel }) => rel === wanted)?.href ?? '';
  if (delivery !== undefined) {
    const parameters = { name, message_id: publicId, token: delivery };
    return { href: hrefOf('acknowledgement'), resource: paths.acknowledgement, parameters };
  }
  if (position === undefined) return undefined;
  return { href: hrefOf('next'), resource: paths.next, parameters: { name, position } };
}

/** A message handed out by an alias such as `receiving` or `next`: Content-Location names the real one. */
export function deliveredMessage(view: MessageView, extra: readonly Link[] = []): Answer {
  const sent = sentWith(view.message);
  const links = messageLinks(view, sent);
  return {
    status: 200,
    headers: [['Content-Location', view.path], ...messageFields(view, sent), NO_STORE],
    links: [...links, ...extra],
    offers: offerOf(view, links),
    content: { type: view.message.contentType, body: view.message.body },
  };
}

/** How long what is shown of a topic's message stays true. `milliseconds` are what is left of its life, if that ends. */
export function cacheControlFor(milliseconds: number | undefined): string {
  if (milliseconds === undefined) return 'max-age=31536000, immutable';
  const seconds = Math.floor(milliseconds / 1000);
  return seconds > 0 ? `max-age=${seconds}, immutable` : 'no-store';
}

/**
 * The ETag of a message. Its content never changes, but what its fields tell of it does: a client that has the tag knows
 * both, and a change with If-Match meets the message as the client saw it. `word` is of the message itself: an id that a
 * client chose may come to stand for another one, when the first is long forgotten.
 */
export function messageTag(word: string, state: MessageState, deliveries: number | undefined): string {
  return `"${word}.${state}${deliveries === undefined ? '' : `.${deliveries}`}"`;
}

/**
 * A message at its own address. Those of a topic never change once they have appeared, until the `milliseconds` of a life
 * that ends are over; those of a queue do, and a cache has to ask each time.
 */
export function messageResource(view: MessageView, etag: string, milliseconds: number | undefined): Answer {
  const sent = sentWith(view.message);
  const isImmutable = view.position !== undefined;
  return {
    status: 200,
    headers: [
      ...messageFields(view, sent),
      ['Cache-Control', isImmutable ? cacheControlFor(milliseconds) : 'no-cache'],
    ],
    links: messageLinks(view, sent),
    content: { type: view.message.contentType, body: view.message.body },
    etag,
  };
}

/** Several messages in one answer, each part with its own fields and links. `base` makes addresses absolute. */
export function deliveredMessages(views: readonly MessageView[], base: string, links: readonly Link[]): Answer {
  const absolute = (path: string): string => (path.startsWith('/') ? base + path : path);
  const parts = views.map((view) => {
    const sent = sentWith(view.message);
    const own = messageLinks(view, sent).map((link) => ({ ...link, href: absolute(link.href) }));
    const type = view.message.contentType;
    const headers: StoredField[] = [
      ...(type === null ? [] : [['Content-Type', type] as const]),
      ['Content-Location', absolute(view.path)],
      ['Link', formatLinks(own)],
      ...messageFields(view, sent),
    ];
    return { headers, body: view.message.body };
  });
  const { contentType, body } = renderMultipart(parts);
  // Some browsers open the parts of a multipart answer one by one, so what goes for one message goes for all of it.
  return { status: 200, headers: [...FOR_BROWSERS, NO_STORE], links, content: { type: contentType, body } };
}
