/** What a node keeps in memory of a subscriber it serves: where it stands, and what is under way. */
import type { Destination } from '../../messaging/destination.ts';
import type { StoredMessage } from '../../store/store.ts';
import { ATTEMPTS_SHOWN, type Attempt } from '../attempts.ts';
import type { Note } from '../queries/serving.ts';
import type { Subscriber } from '../subscriber.ts';

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

export interface Runner {
  readonly id: number;
  /** As the store has it, or as it will have it with the next note. */
  subscriber: Mutable<Subscriber>;
  destination: Destination;
  /** The last attempts, oldest first. */
  attempts: Attempt[];
  /** Whether there are attempts that were not written yet. */
  unwritten: boolean;
  /** Messages read ahead (topic) or held (queue), the next one first. */
  buffer: StoredMessage[];
  /** Its loop runs. */
  running: boolean;
  /** Something happened since the loop looked last. */
  woken: boolean;
  /** Its loop wants to run again at this time, by the store's clock. */
  wakeAt: number | undefined;
  /** Someone disabled or removed it: let go of what it holds, and of it. */
  stop: boolean;
  /** Another node shall have it: let go of it as it is. */
  handOver: boolean;
  /** What is in memory may not be what the store has. */
  stale: boolean;
  /** Whether the message may have reached the link it is noted for. */
  linkTried: boolean;
  /** A batch was refused: that many messages go one by one, to find the one that is not wanted. */
  alone: number;
  /** When the first message of a batch to be was seen. */
  batchSince: number | undefined;
  /** Added to the counters with the next note. */
  forwarded: number;
  failed: number;
  dead: number;
  /** A note that is being written while forwarding goes on. */
  noting: Promise<void> | undefined;
  /** Such a note was refused or failed. */
  lost: boolean;
}

export function createRunner(subscriber: Subscriber, destination: Destination, attempts: readonly Attempt[]): Runner {
  return {
    id: subscriber.id,
    subscriber: { ...subscriber },
    destination,
    attempts: [...attempts],
    unwritten: false,
    buffer: [],
    running: false,
    woken: false,
    wakeAt: undefined,
    stop: false,
    handOver: false,
    stale: false,
    linkTried: subscriber.linkFor !== null,
    alone: 0,
    batchSince: undefined,
    forwarded: 0,
    failed: 0,
    dead: 0,
    noting: undefined,
    lost: false,
  };
}

/** Takes what the store has for the truth. */
export function resetRunner(runner: Runner, subscriber: Subscriber): void {
  runner.subscriber = { ...subscriber };
  runner.linkTried = subscriber.linkFor !== null;
  runner.stale = false;
  runner.buffer = [];
  runner.lost = false;
  runner.alone = 0;
  runner.batchSince = undefined;
  runner.wakeAt = undefined;
}

export function recordAttempt(runner: Runner, attempt: Attempt): void {
  runner.attempts.push(attempt);
  if (runner.attempts.length > ATTEMPTS_SHOWN) runner.attempts.shift();
  runner.unwritten = true;
  if (attempt.error !== undefined) runner.failed += 1;
}

/** The note of where the runner stands now; it takes the counts along. */
export function takeNote(runner: Runner, more: Pick<Note, 'held' | 'disowned'> = {}): Note {
  const { id, epoch, state, reason, position, link, linkFor } = runner.subscriber;
  const { tries, nextTry, failingSince, failingAt } = runner.subscriber;
  const { forwarded, failed, dead } = runner;
  runner.forwarded = 0;
  runner.failed = 0;
  runner.dead = 0;
  return {
    ...{ id, epoch, state, reason, position, link, linkFor, tries, nextTry, failingSince, failingAt },
    ...{ forwarded, failed, dead },
    ...more,
  };
}

/** What a runner was doing cannot go on: the subscriber was changed, is another node's, or the service stops. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}
