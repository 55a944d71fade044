/** What the operator is told of subscribers. */
import { paths } from '../../paths.ts';
import type { NoticeMaker } from '../notice-maker.ts';
import type { Subscriber } from '../subscriber.ts';
import { enableHref, subscriberPath } from './subscribers.ts';

export function createNotices(publicId: (subscriber: Pick<Subscriber, 'id'>) => string): NoticeMaker {
  return {
    disabled(subscriber, destination, reason) {
      const id = publicId(subscriber);
      const skip = { rel: 'enable-skip', href: enableHref(destination, id, true), title: 'Go on after the message' };
      return {
        kind: 'subscriber.disabled',
        subject: subscriberPath(destination, id),
        title: `A subscriber of the ${destination.kind} ${destination.name} is disabled`,
        detail: `${subscriber.rel} to ${subscriber.href}: ${reason}`,
        actions: [
          { rel: 'enable', href: enableHref(destination, id), title: 'Go on where it stopped' },
          ...(destination.kind === 'topic' && subscriber.failingAt !== null ? [skip] : []),
        ],
      };
    },
    deadLetter(subscriber, destination, reason) {
      const name = destination.effective['dead-letter'];
      const redrive = (queue: string) => ({
        rel: 'redrive',
        href: paths.redrive.href({ name: queue }),
        title: `Send the messages of ${queue} back`,
      });
      return {
        kind: 'subscriber.dead-letter',
        subject: subscriberPath(destination, publicId(subscriber)),
        title: `A message of the queue ${destination.name} could not be forwarded`,
        detail: `${subscriber.rel} to ${subscriber.href}: ${reason}`,
        actions: name === undefined ? [] : [redrive(name)],
      };
    },
  };
}
