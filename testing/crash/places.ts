/**
 * Names of destinations, a new one after so many messages: a service keeps a bounded number of received messages, and
 * this test has to be able to read each of its own.
 */
import type { Random } from './random.ts';

/**
 * `queue`: its messages are received for good, so once at most. `leased`: they are leased until they are acknowledged or
 * dead. `topic`: they stay, and everyone reads them.
 */
export type Kind = 'queue' | 'leased' | 'topic';

export type Place = { readonly kind: Kind; readonly path: string };

export type Places = {
  /** Where the next message, or the next few, go. */
  next(messages?: number): Place;
  /** The path of one of those lately in use. */
  recent(): string;
  /** The paths of all. */
  all(): readonly string[];
};

const RECENT = 3;

export function createPlaces(kind: Kind, most: number, random: Random): Places {
  const paths: string[] = [];
  let left = 0;
  const pathOf = (n: number): string => `/${kind === 'topic' ? 'topics' : 'queues'}/${kind}-${n}`;
  return {
    next(messages = 1) {
      if (left < messages) {
        paths.push(pathOf(paths.length + 1));
        left = most;
      }
      left -= messages;
      return { kind, path: paths.at(-1) as string };
    },
    recent: () => (paths.length === 0 ? pathOf(1) : random.pick(paths.slice(-RECENT))),
    all: () => paths,
  };
}
