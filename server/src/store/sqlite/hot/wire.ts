/** How calls and their outcomes are written as records: what each kind consists of, and how many words it takes at most. */
import type { Claim, ClaimedMessage, ForgetStep, NewMessage, OnceUse, Posting, Settlement } from '../../store.ts';
import type { DatabasePlace } from '../database.ts';
import { LARGE_BODY, type RecordReader, type RecordWriter, wordsOfBytes, wordsOfText } from './record.ts';

/** What the other thread needs to know of the store. */
export interface HotSetup {
  readonly place: DatabasePlace;
  readonly turnMemory: SharedArrayBuffer;
  readonly folder: string;
  readonly reserveBytes: number;
}

/** Kinds of calls. Each record begins with its kind and the number under which the caller waits. */
export const POST = 1;
export const CLAIM = 2;
export const SETTLE = 3;
export const FORGET = 4;
/** Sent when no call is under way and none will come. */
export const CLOSE = 5;

/** Kinds of outcomes beside those of the calls, which bear the same numbers. */
export const FAILURE = 6;
/** What was written since the last report, and whether there is room for volatile messages. */
export const REPORT = 7;

/** Kind and number. */
export const HEAD_WORDS = 2;

/** A message with its place in the order of arrival. */
export interface ArrivingMessage extends Omit<NewMessage, 'body'> {
  readonly body: Uint8Array;
  readonly arrival: number;
}

/** What the hot path is asked to post: `mustPostAlone` says what is not for it. */
export interface HotPosting extends Pick<Posting, 'destination' | 'kind' | 'posted'> {
  readonly messages: readonly ArrivingMessage[];
  readonly once?: Pick<OnceUse, 'chain' | 'n' | 'expires'>;
}

/** A posting with the places of its messages in the order of arrival; none for a topic, which has its own order. */
export interface PlacedPosting {
  readonly posting: Posting;
  readonly arrivals: readonly number[];
}

export function postingWords({ posting }: PlacedPosting): number {
  let words = 7;
  for (const { contentType, headers, body } of posting.messages) {
    words += 6 + wordsOfText(contentType) + wordsOfText(headers) + wordsOfBytes(body.length);
  }
  return words;
}

export function packPosting(to: RecordWriter, { posting, arrivals }: PlacedPosting): void {
  const { destination, kind, posted, messages, once } = posting;
  to.number(destination);
  to.number(kind === 'topic' ? 1 : 0);
  to.number(posted);
  to.numberOrNull(once === undefined ? null : once.chain);
  if (once !== undefined) {
    to.number(once.n);
    to.number(once.expires);
  }
  to.number(messages.length);
  for (let index = 0; index < messages.length; index++) {
    const { id, contentType, headers, body, rank, expires, delayedUntil } = messages[index] as NewMessage;
    to.number(id);
    to.text(contentType);
    to.text(headers);
    to.number(rank);
    to.numberOrNull(expires);
    to.numberOrNull(delayedUntil);
    to.number(arrivals[index] ?? 0);
    to.bytes(body);
  }
}

/** The bodies lie where they were written: good until the record is released. */
export function unpackPosting(from: RecordReader): HotPosting {
  const destination = from.number();
  const kind = from.number() === 1 ? 'topic' : 'queue';
  const posted = from.number();
  const chain = from.numberOrNull();
  const once = chain === null ? undefined : { chain, n: from.number(), expires: from.number() };
  const messages: ArrivingMessage[] = [];
  for (let left = from.number(); left > 0; left--) {
    messages.push({
      id: from.number(),
      contentType: from.textOrNull(),
      headers: from.text(),
      rank: from.number(),
      expires: from.numberOrNull(),
      delayedUntil: from.numberOrNull(),
      arrival: from.number(),
      body: from.view(),
    });
  }
  return once === undefined ? { destination, kind, posted, messages } : { destination, kind, posted, messages, once };
}

export const CLAIM_WORDS = 7;

export function packClaim(to: RecordWriter, { destination, max, maxBytes, mode, due, token, now }: Claim): void {
  to.number(destination);
  to.number(max);
  to.number(maxBytes);
  to.number(mode === 'lease' ? 1 : 0);
  to.number(due);
  to.number(token);
  to.number(now);
}

export const unpackClaim = (from: RecordReader): Claim => ({
  destination: from.number(),
  max: from.number(),
  maxBytes: from.number(),
  mode: from.number() === 1 ? 'lease' : 'consume',
  due: from.number(),
  token: from.number(),
  now: from.number(),
});

const VERDICTS: readonly Settlement['verdict'][] = ['acknowledge', 'return', 'extend'];

export const SETTLEMENT_WORDS = 6;

export function packSettlement(to: RecordWriter, { id, token, verdict, due, maxDeliveries, now }: Settlement): void {
  to.number(id);
  to.number(token);
  to.number(VERDICTS.indexOf(verdict));
  to.numberOrNull(due);
  to.number(maxDeliveries);
  to.number(now);
}

export const unpackSettlement = (from: RecordReader): Settlement => ({
  id: from.number(),
  token: from.number(),
  verdict: VERDICTS[from.number()] as Settlement['verdict'],
  due: from.numberOrNull(),
  maxDeliveries: from.number(),
  now: from.number(),
});

export const STEP_WORDS = 4;

export function packStep(to: RecordWriter, { after, now, kept, rememberIds }: ForgetStep): void {
  to.number(after);
  to.number(now);
  to.number(kept);
  to.number(rememberIds);
}

export const unpackStep = (from: RecordReader): ForgetStep => ({
  after: from.number(),
  now: from.number(),
  kept: from.number(),
  rememberIds: from.number(),
});

/** A message as the hot thread found it. What the claim itself said does not travel back. */
export type FoundMessage = Pick<ClaimedMessage, 'id' | 'posted' | 'contentType' | 'headers' | 'name' | 'deliveries'> & {
  readonly body: Uint8Array;
};

export function claimedWords(messages: readonly FoundMessage[]): number {
  let words = 1;
  for (const { contentType, headers, name, body } of messages) {
    words += 4 + wordsOfText(contentType) + wordsOfText(headers) + wordsOfText(name);
    // A large body lies beside the record, which then is a large one.
    words += wordsOfBytes(Math.min(body.length, LARGE_BODY));
  }
  return words;
}

export function packClaimed(to: RecordWriter, messages: readonly FoundMessage[]): void {
  to.number(messages.length);
  for (const { id, posted, contentType, headers, name, deliveries, body } of messages) {
    to.number(id);
    to.number(posted);
    to.text(contentType);
    to.text(headers);
    to.text(name);
    to.number(deliveries);
    to.bytes(body);
  }
}

export function unpackClaimed(
  from: RecordReader,
  { destination, token }: Pick<Claim, 'destination' | 'token'>,
): ClaimedMessage[] {
  const messages: ClaimedMessage[] = [];
  for (let left = from.number(); left > 0; left--) {
    messages.push({
      id: from.number(),
      destination,
      position: null,
      posted: from.number(),
      contentType: from.textOrNull(),
      headers: from.text(),
      name: from.textOrNull(),
      deliveries: from.number(),
      token,
      body: from.keep(),
    });
  }
  return messages;
}
