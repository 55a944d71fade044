/** Messages on their way to a subscriber: the sender's own content and fields, and links that say where it comes from. */
import { formatLinks } from '../../http/links.ts';
import { renderMultipart } from '../../http/multipart.ts';
import type { Destination } from '../../messaging/destination.ts';
import { messagePath } from '../../messaging/views/links.ts';
import { messageLinks, sentWith } from '../../messaging/views/messages.ts';
import type { StoredMessage } from '../../store/store.ts';
import type { Parcel } from '../usecases/delivery.ts';

export interface OutgoingContext {
  /** The address under which the service is seen, without a slash at its end. */
  readonly base: () => string;
  readonly publicId: (message: StoredMessage) => string;
}

export function createOutgoing({ base, publicId }: OutgoingContext) {
  function fieldsOf(message: StoredMessage, destination: Destination): [string, string][] {
    const sent = sentWith(message);
    const path = pathOf(message, destination);
    const view = { message, destination, publicId: publicId(message), path, state: 'available' } as const;
    const at = base();
    const links = messageLinks(view, sent).map((link) => ({
      ...link,
      href: link.href.startsWith('/') ? at + link.href : link.href,
    }));
    return [
      ...(message.contentType === null ? [] : [['Content-Type', message.contentType] as [string, string]]),
      ['Link', formatLinks(links)],
      ...sent.fields.map(([name, value]) => [name, value] as [string, string]),
    ];
  }

  const pathOf = (message: StoredMessage, { kind, name }: Destination): string =>
    messagePath(kind, name, publicId(message));

  return {
    message: (message: StoredMessage, destination: Destination): Parcel => ({
      headers: fieldsOf(message, destination),
      body: message.body,
      id: publicId(message),
      path: pathOf(message, destination),
    }),
    batch(messages: readonly StoredMessage[], destination: Destination): Parcel {
      const parts = messages.map((message) => ({ headers: fieldsOf(message, destination), body: message.body }));
      const { contentType, body } = renderMultipart(parts);
      const [first] = messages as [StoredMessage];
      return {
        headers: [['Content-Type', contentType]],
        body,
        id: `${publicId(first)}.${messages.length}`,
        path: pathOf(first, destination),
      };
    },
  };
}
