/** Use cases of posting: one message, under a client-chosen id or not, to a queue or a topic. */

import type { Sealer } from '../../ids.ts';
import { Problem } from '../../problems.ts';
import type { MessageName, PostOutcome, Store } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import type { StoredField } from '../forwarded-fields.ts';
import { hashOfContent, hashOfId, type PostingWishes, placement } from '../message.ts';
import { checkName } from '../names.ts';
import { findMessage } from '../queries/messages.ts';
import type { DestinationKind } from '../settings.ts';
import type { Destinations } from './destinations.ts';

/** The content of a message as it came in. */
export interface Draft {
  readonly contentType: string | null;
  readonly fields: readonly StoredField[];
  readonly body: Buffer;
}

export interface PostingOptions {
  readonly autoCreate: boolean;
  /** Told when a delayed message becomes available. */
  readonly schedule: (at: number) => void;
}

export interface Posting {
  /** Gives the id of the stored message. */
  post(kind: DestinationKind, name: string, draft: Draft, wishes: PostingWishes): Promise<number>;
  /** True when the message is new, false when the same was posted before. */
  put(queue: string, id: string, draft: Draft, wishes: PostingWishes): Promise<boolean>;
}

const NO_FIELDS = '[]';

export function createPosting(
  store: Store,
  destinations: Destinations,
  sealer: Sealer,
  options: PostingOptions,
): Posting {
  async function target(kind: DestinationKind, name: string): Promise<Destination> {
    return options.autoCreate ? destinations.ensure(kind, name) : destinations.get(kind, name);
  }

  /** Stores a message; a destination that was deleted meanwhile is looked up, or made, once more. */
  async function storeMessage(
    kind: DestinationKind,
    name: string,
    draft: Draft,
    wishes: PostingWishes,
    messageName?: MessageName,
  ): Promise<{ outcome: PostOutcome; id: number }> {
    for (let attempt = 0; ; attempt++) {
      const destination = await target(kind, name);
      const now = store.now();
      // What is promised to be once-only is kept on disk, whatever was asked.
      const volatile = wishes.persistent === false && messageName === undefined && store.messages.hasVolatileRoom();
      const id = store.nextId() * 2 + (volatile ? 1 : 0);
      const { 'max-length': length, 'max-bytes': bytes } = destination.effective;
      const limits =
        length === undefined && bytes === undefined
          ? undefined
          : { ...(length && { length }), ...(bytes && { bytes }) };
      const placed = placement(wishes, destination.effective, now);
      const outcome = await store.messages.post({
        destination: destination.id,
        kind,
        posted: now,
        messages: [
          {
            id,
            contentType: draft.contentType,
            headers: draft.fields.length === 0 ? NO_FIELDS : JSON.stringify(draft.fields),
            body: draft.body,
            ...placed,
          },
        ],
        ...(messageName && { name: messageName }),
        ...(limits && { limits }),
      });
      if (outcome === 'stored') announce(destination, placed.delayedUntil);
      if (outcome !== 'no-destination' || attempt > 2) return { outcome, id };
      destinations.forget(kind, name);
    }
  }

  function announce(destination: Destination, delayedUntil: number | null): void {
    if (delayedUntil === null) store.announce({ arrived: new Map([[destination.id, 1]]) });
    else options.schedule(delayedUntil);
  }

  return {
    async post(kind, name, draft, wishes) {
      const { outcome, id } = await storeMessage(kind, name, draft, wishes);
      if (outcome !== 'stored') throw refusal(outcome, kind, name);
      return id;
    },
    async put(queue, messageId, draft, wishes) {
      checkName(messageId, 'message id');
      const content = hashOfContent(draft.contentType, draft.body);
      const known = await contentOfOwnId(queue, messageId);
      if (known !== undefined) {
        if (known.equals(content)) return false;
        throw refusal('name-taken', 'queue', queue);
      }
      const messageName = { text: messageId, hash: hashOfId(messageId), content };
      const { outcome } = await storeMessage('queue', queue, draft, wishes, messageName);
      if (outcome === 'name-known') return false;
      if (outcome !== 'stored') throw refusal(outcome, 'queue', queue);
      return true;
    },
  };

  /** A PUT may also repeat a message under the id that Waypost gave it. */
  async function contentOfOwnId(queue: string, messageId: string): Promise<Buffer | undefined> {
    const id = sealer.open(messageId);
    if (id === undefined) return undefined;
    const destination = await destinations.find('queue', queue);
    if (destination === undefined) return undefined;
    const found = await store.read((tx) => findMessage(tx, destination.id, id));
    return found && hashOfContent(found.message.contentType, found.message.body);
  }
}

function refusal(outcome: Exclude<PostOutcome, 'stored'>, kind: DestinationKind, name: string): Problem {
  switch (outcome) {
    case 'full':
      return new Problem('destination-full', `the ${kind} ${name} has reached its max-length or max-bytes`);
    case 'name-taken':
      return new Problem('message-id-taken', 'this id was used before with another body or Content-Type');
    case 'no-destination':
      return new Problem('unknown-destination', `the ${kind} ${name} is being deleted`);
    default:
      return new Problem('conflict', `the message was refused: ${outcome}`);
  }
}
