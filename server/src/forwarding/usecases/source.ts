/** Where a runner's messages come from and what happens to them: the difference between topics and queues. */
import type { StoredMessage, Tx } from '../../store/store.ts';
import type { Runner } from './runner.ts';

/** Messages to send now, or when to look again, or nothing to do until something arrives. */
export type Next = readonly StoredMessage[] | { readonly wait: number } | undefined;

export interface Source {
  next(runner: Runner): Promise<Next>;
  /** Notes that the target has them. `link` is the create-next link for the message that follows. */
  delivered(runner: Runner, messages: readonly StoredMessage[], link: string | null): Promise<void>;
  /**
   * Gives them up for ever. False when that is not possible here: then the subscriber stops at them. `last` runs at the end
   * of the transaction.
   */
  bury(
    runner: Runner,
    messages: readonly StoredMessage[],
    reason: string,
    last: (tx: Tx) => Promise<void>,
  ): Promise<boolean>;
  /** Lets go of what is held and of the subscriber, as the runner's state says. */
  letGo(runner: Runner, last?: (tx: Tx) => Promise<void>): Promise<void>;
}

export const BATCH_MESSAGES = 100;
export const BATCH_BYTES = 4 * 1024 * 1024;
/** How long a batch waits for more messages. */
export const BATCH_WAIT = 1000;

/** How many messages the next request may carry. */
export function wantedBy({ subscriber, alone }: Runner): number {
  return subscriber.rel === 'post-batch' && alone === 0 ? BATCH_MESSAGES : 1;
}

/** The present message is behind it, one way or the other: what was noted of its failures is void. */
export function clearFailures({ subscriber }: Runner): void {
  subscriber.state = subscriber.state === 1 ? 0 : subscriber.state;
  subscriber.tries = 0;
  subscriber.nextTry = null;
  subscriber.failingSince = null;
  subscriber.failingAt = null;
}

/** The first messages that fit in a request, in a list of their own. */
export function withinBytes(messages: readonly StoredMessage[], max: number): readonly StoredMessage[] {
  let bytes = 0;
  const end = messages.findIndex(({ body }, index) => {
    bytes += body.length;
    return index >= max || (index > 0 && bytes > BATCH_BYTES);
  });
  return messages.slice(0, end < 0 ? undefined : end);
}
