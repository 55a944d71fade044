/** Use cases of receiving from a queue: taking for good, taking on lease, looking, and the verdict on a delivery. */
import { newToken } from '../../ids.ts';
import { Problem } from '../../problems.ts';
import type { Claim, ClaimedMessage, Store } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import { timeAfter } from '../message.ts';
import { claimHeld } from '../queries/claim-held.ts';
import { type FoundMessage, peekQueue, putBack } from '../queries/messages.ts';
import type { Enlister } from './enlisting.ts';
import { type Client, MAX_ANSWER_BYTES, type Waiting, type Wanted } from './waiting.ts';

/** What a receiver says of a delivery (A15). Seconds. */
export type Verdict =
  | { readonly kind: 'acknowledge' }
  | { readonly kind: 'return'; readonly delay: number }
  | { readonly kind: 'extend'; readonly by: number };

/** The path of a transaction, whose commit acknowledges what is taken and whose rollback puts it back. */
export interface Enlisted {
  readonly transaction?: string | undefined;
}

export interface Receiving {
  /** Takes messages off the queue for good. */
  receive(queue: Destination, wanted: Wanted & Enlisted, client: Client): Promise<readonly ClaimedMessage[]>;
  /** Hides messages from others for the queue's lease; each carries the token of this delivery. */
  poll(queue: Destination, wanted: Wanted & Enlisted, client: Client): Promise<readonly ClaimedMessage[]>;
  /** Looks at what `receive` would give. */
  peek(queue: Destination, wanted: Wanted, client: Client): Promise<readonly FoundMessage[]>;
  /** Throws 412 when a newer delivery has overtaken this one, 409 when it has no lease to extend, 410 when the message is gone. */
  settle(queue: Destination, publicId: string, token: number, verdict: Verdict): Promise<void>;
}

/** How the id in an address becomes the number of a message. */
export interface MessageIds {
  /** What the id itself tells. It is a guess: a client may have chosen an id that reads like one of ours. */
  guess(publicId: string): number | undefined;
  /** Looks it up. Throws 404. */
  find(queue: Destination, publicId: string): Promise<number>;
}

export function createReceiving(
  store: Store,
  waiting: Waiting,
  schedule: (at: number) => void,
  enlister: Enlister,
  ids: MessageIds,
): Receiving {
  /** The client was found gone after its messages were taken: they go back to their place. */
  async function giveBack(queue: Destination, taken: readonly ClaimedMessage[], isHeld: boolean): Promise<void> {
    const returned = await store.transaction(async (tx) => {
      let count = 0;
      for (const { id, token } of taken) if (await putBack(tx, id, token, isHeld)) count++;
      return count;
    });
    if (returned > 0) store.announce({ arrived: new Map([[queue.id, returned]]) });
  }

  async function take(
    queue: Destination,
    { max, wait, transaction }: Wanted & Enlisted,
    client: Client,
    mode: Claim['mode'],
  ): Promise<readonly ClaimedMessage[]> {
    const seconds = mode === 'lease' ? queue.effective.lease : queue.effective.retention;
    const taken = await waiting.waitFor(queue, { wait, taking: true }, client, () => {
      const now = store.now();
      if (transaction !== undefined) {
        const limits = { max, maxBytes: MAX_ANSWER_BYTES, now, token: newToken() };
        return enlister.inTransaction(transaction, (tx, held) => claimHeld(tx, queue.id, held, limits));
      }
      const due = timeAfter(now, seconds);
      return store.messages.claim({
        destination: queue.id,
        max,
        maxBytes: MAX_ANSWER_BYTES,
        mode,
        due,
        token: newToken(),
        now,
      });
    });
    if (taken.length > 0 && mode === 'lease' && transaction === undefined) schedule(timeAfter(store.now(), seconds));
    if (taken.length === 0 || !client.gone) return taken;
    await giveBack(queue, taken, transaction !== undefined);
    return [];
  }

  async function settleMessage(queue: Destination, id: number, token: number, verdict: Verdict) {
    const now = store.now();
    const due = dueOf(verdict, queue, now);
    const maxDeliveries = queue.effective['max-deliveries'] ?? Number.MAX_SAFE_INTEGER;
    const outcome = await store.messages.settle({ id, token, verdict: verdict.kind, due, maxDeliveries, now });
    if (outcome === 'dead') schedule(now);
    if (outcome !== 'done') return outcome;
    if (verdict.kind === 'return' && due === null) store.announce({ arrived: new Map([[queue.id, 1]]) });
    else if (verdict.kind !== 'acknowledge' && due !== null) schedule(due);
    return outcome;
  }

  return {
    receive: (queue, wanted, client) => take(queue, wanted, client, 'consume'),
    poll: (queue, wanted, client) => take(queue, wanted, client, 'lease'),
    peek: (queue, { max, wait }, client) =>
      waiting.waitFor(queue, { wait, taking: false }, client, () =>
        store.read((tx) => peekQueue(tx, queue.id, { max, maxBytes: MAX_ANSWER_BYTES, now: store.now() })),
      ),
    async settle(queue, publicId, token, verdict) {
      // Nearly always the guess is right and nothing has to be looked up: the token fits no message but its own.
      const guess = ids.guess(publicId);
      let outcome = guess === undefined ? undefined : await settleMessage(queue, guess, token, verdict);
      if (outcome === undefined || outcome === 'gone' || outcome === 'overtaken') {
        const id = await ids.find(queue, publicId);
        if (outcome === undefined || id !== guess) outcome = await settleMessage(queue, id, token, verdict);
      }
      if (outcome === 'overtaken') {
        throw new Problem(
          'overtaken',
          'the message has been delivered again, is dead or has expired, since this link was given',
        );
      }
      if (outcome === 'acknowledged') {
        const detail = 'the message was acknowledged by this link, so that there is no lease to extend';
        throw new Problem('already-acknowledged', `${detail}; acknowledge=false puts it back`);
      }
      if (outcome === 'gone') throw new Problem('message-gone', 'the message was here and is gone');
    },
  };
}

/** When the state that the verdict leads to ends; null: a returned message is available at once. */
function dueOf(verdict: Verdict, { effective }: Destination, now: number): number | null {
  switch (verdict.kind) {
    case 'acknowledge':
      return timeAfter(now, effective.retention);
    case 'extend':
      return timeAfter(now, verdict.by);
    case 'return':
      return verdict.delay > 0 ? timeAfter(now, verdict.delay) : null;
  }
}
