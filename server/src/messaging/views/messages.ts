/** Messages as answers: their content, the fields that tell about them, their links. */
import { type Answer, NO_STORE } from '../../http/answer.ts';
import type { Link } from '../../http/links.ts';
import { renderMultipart } from '../../http/multipart.ts';
import type { StoredMessage } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import { linksToKeep, type StoredField } from '../forwarded-fields.ts';
import type { MessageState } from '../message.ts';
import { destinationPath, messagePath } from './links.ts';
import { timeOf } from './times.ts';

export interface MessageView {
  readonly message: StoredMessage;
  readonly destination: Destination;
  /** The id under which clients know it. */
  readonly publicId: string;
  readonly state: MessageState;
  readonly deliveries: number;
}

/** The fields that tell about a message, with those its sender gave it. */
function messageFields({ message, publicId, state, deliveries }: MessageView): [string, string][] {
  const fields: [string, string][] = [
    ['Message-Id', publicId],
    ['Message-State', state],
    ['Message-Posted', timeOf(message.posted)],
    ['Delivery-Count', String(deliveries)],
    // A message is the sender's word, not ours: a browser must neither guess its type nor run it in our name.
    ['X-Content-Type-Options', 'nosniff'],
    ['Content-Security-Policy', 'sandbox'],
  ];
  if (message.headers !== '[]') {
    for (const [name, value] of JSON.parse(message.headers) as StoredField[]) {
      if (name.toLowerCase() !== 'link') fields.push([name, value]);
    }
  }
  return fields;
}

export function messageLinks({ message, destination, publicId }: MessageView): Link[] {
  const { kind, name } = destination;
  return [
    { rel: 'self', href: messagePath(kind, name, publicId) },
    { rel: 'generator', href: destinationPath(kind, name) },
    ...sentLinks(message),
  ];
}

/** The links its sender gave the message. They are kept in a field of their own among the stored ones. */
function sentLinks({ headers }: StoredMessage): Link[] {
  if (!headers.includes('"Link"')) return [];
  const field = (JSON.parse(headers) as StoredField[]).find(([name]) => name === 'Link');
  return linksToKeep(field?.[1]);
}

/** A message handed out by an alias such as `receiving`: Content-Location names the real one. */
export function deliveredMessage(view: MessageView): Answer {
  const { kind, name } = view.destination;
  return {
    status: 200,
    headers: [['Content-Location', messagePath(kind, name, view.publicId)], ...messageFields(view), NO_STORE],
    links: messageLinks(view),
    content: { type: view.message.contentType, body: view.message.body },
  };
}

/** A message at its own address. */
export function messageResource(view: MessageView): Answer {
  return {
    status: 200,
    headers: [...messageFields(view), ['Cache-Control', 'no-cache']],
    links: messageLinks(view),
    content: { type: view.message.contentType, body: view.message.body },
  };
}

/** Several messages in one answer, each part with its own fields and links. */
export function deliveredMessages(
  views: readonly MessageView[],
  absolute: (path: string) => string,
  links: (links: readonly Link[]) => string,
): Answer {
  const parts = views.map((view) => {
    const { kind, name } = view.destination;
    const headers: [string, string][] = [
      ...(view.message.contentType === null ? [] : [['Content-Type', view.message.contentType] as [string, string]]),
      ['Content-Location', absolute(messagePath(kind, name, view.publicId))],
      ['Link', links(messageLinks(view).map((link) => ({ ...link, href: absolute(link.href) })))],
      ...messageFields(view),
    ];
    return { headers, body: view.message.body };
  });
  const { contentType, body } = renderMultipart(parts);
  return { status: 200, headers: [NO_STORE], content: { type: contentType, body } };
}
