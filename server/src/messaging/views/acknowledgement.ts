/** What an acknowledgement link tells of its delivery. */
import type { Document } from '../../http/document.ts';
import { timeOf } from '../../http/times.ts';
import { paths } from '../../paths.ts';
import type { MessageView } from './messages.ts';

export function acknowledgementDocument(
  { destination: { name }, publicId, path, delivery = '', state }: MessageView,
  { due, tries }: { due: number | null; tries: number },
  isNewest: boolean,
): Document {
  const isOver = state === 'dead' || state === 'expired';
  const self = paths.acknowledgement.href({ name, 'message-id': publicId, token: delivery });
  return {
    name: 'acknowledgement',
    fields: {
      state,
      deliveries: tries,
      newest: isNewest,
      ...(state === 'leased' && due !== null ? { 'leased-until': timeOf(due) } : {}),
    },
    links: [
      { rel: 'self', href: self },
      { rel: 'about', href: path },
      // The verdict can be given, or changed, as long as no newer delivery has overtaken this one and the message lives.
      ...(isNewest && !isOver ? [{ rel: 'acknowledgement', href: self, method: 'POST' }] : []),
    ],
  };
}
