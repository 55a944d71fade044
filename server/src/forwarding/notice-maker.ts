/** What the operator is told of a subscriber; made where paths are known. */
import type { Destination } from '../messaging/destination.ts';
import type { NewNotice } from '../operator/notice.ts';
import type { Subscriber } from './subscriber.ts';

type Make = (subscriber: Subscriber, destination: Destination, reason: string) => NewNotice;

export interface NoticeMaker {
  /** It gets nothing any more until someone enables it. */
  readonly disabled: Make;
  /** A message was moved to the dead-letter queue. */
  readonly deadLetter: Make;
}
