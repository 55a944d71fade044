/** Use cases of posting: one message or a batch, under a client-chosen id or a once-only link or neither. */
import type { Sealer } from '../../ids.ts';
import { Problem } from '../../problems.ts';
import {
  hashOfId,
  type MessageName,
  type NewMessage,
  type OnceUse,
  type PostOutcome,
  type Store,
  type Posting as StorePosting,
  type Tx,
} from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import type { StoredField } from '../forwarded-fields.ts';
import { hashOfContent, type PostingWishes, placement } from '../message.ts';
import { checkName } from '../names.ts';
import { findMessage } from '../queries/messages.ts';
import { type Use, useOfLink, useOfName } from '../queries/uses.ts';
import type { DestinationKind } from '../settings.ts';
import { refuseClients } from '../system-topics.ts';
import type { Destinations } from './destinations.ts';
import { type Enlister, notYetDecided } from './enlisting.ts';

/** The content of a message as it came in. */
export interface Draft {
  readonly contentType: string | null;
  readonly fields: readonly StoredField[];
  readonly body: Buffer;
}

/** What is to be stored together, and how. */
export interface Parcel {
  readonly kind: DestinationKind;
  readonly name: string;
  readonly drafts: readonly Draft[];
  readonly wishes: PostingWishes;
  /** The path of a transaction: nobody sees the messages until it commits. */
  readonly transaction?: string | undefined;
  readonly messageName?: MessageName;
  /** Stored only if this link was not used before; its message has the id the link carries. */
  readonly once?: { readonly use: OnceUse; readonly messageId: number };
}

export type OnceParcel = Parcel & Required<Pick<Parcel, 'once'>>;

export type PutOptions = Pick<Parcel, 'wishes' | 'transaction'>;

export interface PostingOptions {
  readonly autoCreate: boolean;
  /** Told when a delayed message becomes available. */
  readonly schedule: (at: number) => void;
  readonly enlister: Enlister;
}

export interface Posting {
  /** Throws when nothing can be posted to a destination of this name. */
  check(kind: DestinationKind, name: string): Promise<void>;
  /** Stores all or nothing; gives the ids in order. */
  post(parcel: Parcel): Promise<number[]>;
  /** Like `post`, but under a once-only link, which may have been used before. */
  postOnce(parcel: OnceParcel): Promise<number[] | 'once-used'>;
  /** True when the message is new, false when the same was posted before under this id. */
  put(queue: string, messageId: string, draft: Draft, options: PutOptions): Promise<boolean>;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

const NO_FIELDS = '[]';
/** How often a destination that vanishes between the look and the post is looked up again. */
const ATTEMPTS = 4;

export function createPosting(
  store: Store,
  destinations: Destinations,
  sealer: Sealer,
  options: PostingOptions,
): Posting {
  /** What is promised to be once-only is kept on disk, whatever was asked. */
  function newIds({ drafts, wishes, messageName, once, transaction }: Parcel): number[] {
    const isPromised = messageName !== undefined || once !== undefined || transaction !== undefined;
    const volatile = wishes.persistent === false && !isPromised && store.messages.hasVolatileRoom();
    return drafts.map((_, index) =>
      index === 0 && once !== undefined ? once.messageId : store.nextId() * 2 + (volatile ? 1 : 0),
    );
  }

  function toMessages(parcel: Parcel, ids: readonly number[], destination: Destination, now: number): NewMessage[] {
    const { rank, delayedUntil, expires } = placement(parcel.wishes, destination.effective, now);
    return parcel.drafts.map(({ contentType, fields, body }, index) => ({
      id: ids[index] as number,
      contentType,
      headers: fields.length === 0 ? NO_FIELDS : JSON.stringify(fields),
      body,
      rank,
      delayedUntil,
      expires,
    }));
  }

  /**
   * Stores a parcel and gives the ids, or tells that it repeats an id or a link. Throws when it is refused. A destination
   * that was deleted meanwhile is looked up, or made, once more.
   */
  async function storeParcel(parcel: Parcel): Promise<number[] | 'name-known' | 'once-used'> {
    const { kind, name, messageName, once, transaction } = parcel;
    const ids = newIds(parcel);
    refuseClients(kind, name);
    const taking: { own?: number } = {};
    for (let attempt = 1; ; attempt++) {
      let destination = destinations.known(kind, name);
      if (destination === undefined) {
        destination = await destinations.find(kind, name);
        // The post that used the link is repeated after the destination was deleted: that must not make it again.
        const use = destination === undefined && once !== undefined ? await useOf(parcel, 0) : 'free';
        if (use === 'done') return 'once-used';
        if (use !== 'free') throw notYetDecided();
        // A post that its transaction refuses must not leave a destination behind.
        if (destination === undefined && transaction !== undefined)
          await options.enlister.inTransaction(transaction, async () => {});
        destination ??= await (options.autoCreate ? destinations.ensure(kind, name) : destinations.get(kind, name));
      }
      const now = store.now();
      const messages = toMessages(parcel, ids, destination, now);
      const posting: Writable<StorePosting> = { destination: destination.id, kind, posted: now, messages };
      if (messageName !== undefined) posting.name = messageName;
      if (once !== undefined) posting.once = once.use;
      if (destination.limits !== undefined) posting.limits = destination.limits;
      const outcome = await (transaction === undefined
        ? store.messages.post(posting)
        : postInTransaction(transaction, posting, parcel, taking));
      if (outcome === 'stored') {
        if (transaction === undefined) announce(destination, messages);
        return ids;
      }
      if (outcome === 'no-destination' && attempt < ATTEMPTS) destinations.forget(kind, name);
      else if (!(await isFreeAgain(outcome, parcel, destination, taking.own))) {
        if (outcome === 'once-used' && once !== undefined) return outcome;
        if (outcome === 'name-known' && messageName !== undefined) return outcome;
        throw refusal(outcome, parcel);
      } else if (attempt >= ATTEMPTS) throw notYetDecided();
    }
  }

  /**
   * Notes which transaction it was. One that takes nothing more may have taken this before, when the answer was lost: then it
   * is a repeat, as it would be without the transaction.
   */
  async function postInTransaction(
    transaction: string,
    posting: StorePosting,
    parcel: Parcel,
    taking: { own?: number },
  ): Promise<PostOutcome> {
    try {
      return await options.enlister.inTransaction(transaction, (tx, held) => {
        taking.own = held;
        return postHeld(tx, { ...posting, held }, parcel);
      });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // Whoever holds the id may be rolled back.
      if (error.code === 'message-id-taken') return 'name-taken';
      const repetition = await repetitionOf(parcel, posting.destination);
      if (repetition === undefined) throw error;
      return repetition;
    }
  }

  /** What became of the id or the link of a parcel that has one. */
  const useOf = async ({ messageName, once }: Parcel, destination: number): Promise<Use> => {
    if (once !== undefined) return store.read((tx) => useOfLink(tx, once.use));
    if (messageName === undefined) return 'free';
    return (await store.read((tx) => useOfName(tx, destination, messageName.hash))).use;
  };

  /** Undefined also for what an open transaction holds: that is nobody's yet. */
  async function repetitionOf({ messageName, once }: Parcel, destination: number): Promise<PostOutcome | undefined> {
    if (once !== undefined)
      return (await store.read((tx) => useOfLink(tx, once.use))) === 'done' ? 'once-used' : undefined;
    if (messageName === undefined) return undefined;
    const { use, content } = await store.read((tx) => useOfName(tx, destination, messageName.hash));
    return use === 'done' && content !== undefined && messageName.content.equals(content) ? 'name-known' : undefined;
  }

  /**
   * A repeat may be of a message that an open transaction holds. Nobody can be told that it was posted: a rollback would
   * make that a lie. True when such a transaction has been rolled back meanwhile, and the id or the link is free.
   */
  async function isFreeAgain(
    outcome: PostOutcome,
    parcel: Parcel,
    destination: Destination,
    own: number | undefined,
  ): Promise<boolean> {
    if (outcome !== 'name-known' && outcome !== 'name-taken' && outcome !== 'once-used') return false;
    const use = await useOf(parcel, destination.id);
    if (use === 'free') return true;
    if (use === 'done' || use.transaction === own) return false;
    throw notYetDecided();
  }

  /** A refusal must also undo what the transaction has done so far, the registration for example. */
  async function postHeld(tx: Tx, posting: StorePosting, parcel: Parcel): Promise<PostOutcome> {
    const outcome = await store.messages.postIn(tx, posting);
    if (outcome === 'stored' || outcome === 'name-known' || outcome === 'once-used' || outcome === 'no-destination')
      return outcome;
    throw refusal(outcome, parcel);
  }

  function announce({ id }: Destination, messages: readonly NewMessage[]): void {
    const delayedUntil = messages[0]?.delayedUntil ?? null;
    if (delayedUntil === null) announceArrival(id, messages.length);
    else options.schedule(delayedUntil);
  }

  /** Posts that shared a commit come here one right after the other, and are announced together. */
  let arrived = new Map<number, number>();
  function announceArrival(destination: number, count: number): void {
    if (arrived.size === 0) {
      queueMicrotask(() => {
        const news = { arrived };
        arrived = new Map();
        store.announce(news);
      });
    }
    arrived.set(destination, (arrived.get(destination) ?? 0) + count);
  }

  /** A PUT may also repeat a message under the id that Waypost gave it. */
  async function contentOfOwnId(queue: string, messageId: string): Promise<Buffer | undefined> {
    const id = sealer.open(messageId);
    const destination = id === undefined ? undefined : await destinations.find('queue', queue);
    if (id === undefined || destination === undefined) return undefined;
    const found = await store.read((tx) => findMessage(tx, destination.id, id));
    if (found?.delivery?.isUnborn) throw notYetDecided();
    return found && hashOfContent(found.message.contentType, found.message.body);
  }

  return {
    async check(kind, name) {
      refuseClients(kind, name);
      if (!options.autoCreate) await destinations.get(kind, name);
    },
    // What has neither an id of its own nor a link cannot be a repeat.
    post: (parcel) => storeParcel(parcel) as Promise<number[]>,
    postOnce: (parcel) => storeParcel(parcel) as Promise<number[] | 'once-used'>,
    async put(queue, messageId, draft, { wishes, transaction }) {
      checkName(messageId, 'message id');
      const content = hashOfContent(draft.contentType, draft.body);
      const messageName = { text: messageId, hash: hashOfId(messageId), content };
      const parcel: Parcel = { kind: 'queue', name: queue, drafts: [draft], wishes, transaction, messageName };
      const known = await contentOfOwnId(queue, messageId);
      if (known !== undefined && !known.equals(content)) throw refusal('name-taken', parcel);
      if (known !== undefined) return false;
      return (await storeParcel(parcel)) !== 'name-known';
    },
  };
}

function refusal(outcome: Exclude<PostOutcome, 'stored'>, { kind, name }: Pick<Parcel, 'kind' | 'name'>): Problem {
  switch (outcome) {
    case 'full':
      return new Problem(
        'destination-full',
        `the ${kind} ${name} has no room for this within its max-length and max-bytes; nothing was stored`,
      );
    case 'name-taken':
      return new Problem('message-id-taken', 'this id was used before with another body or Content-Type');
    case 'no-destination':
      return new Problem('unknown-destination', `the ${kind} ${name} is being deleted`);
    default:
      return new Problem('conflict', `the message was refused: ${outcome}`);
  }
}
