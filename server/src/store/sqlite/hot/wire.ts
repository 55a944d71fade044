/**
 * What travels between the thread that speaks with clients and the one that writes. Many calls go over in one message, and
 * their outcomes come back in one: lists of plain values, and all bodies in one piece of memory that changes hands. Objects
 * and buffers one by one would cost more to carry than the calls cost to carry out.
 */
import type {
  Claim,
  ClaimedMessage,
  ForgetStep,
  Forgotten,
  NewMessage,
  OnceUse,
  Posting,
  PostOutcome,
  Settlement,
  SettleOutcome,
} from '../../store.ts';
import { asBuffer } from '../connection.ts';
import type { DatabasePlace } from '../database.ts';

type Plain = number | null;

/** What the other thread needs to know of the store. */
export interface HotSetup {
  readonly place: DatabasePlace;
  readonly turnMemory: SharedArrayBuffer;
  readonly folder: string;
  readonly reserveBytes: number;
}

/** Sent when no call is under way and none will come. The port closes when the database is closed. */
export const CLOSE = 'close';

/** Calls as they travel. Those of one kind keep their order. */
export interface CallBundle {
  readonly number: number;
  readonly posts: Plain[];
  /** The texts of the posts, each once: most messages have the same. */
  readonly texts: readonly string[];
  readonly claims: number[];
  readonly settlements: (number | null)[];
  /** Too rare to be packed. */
  readonly steps: readonly ForgetStep[];
  readonly bodies: Uint8Array;
}

/**
 * Outcomes as they travel: of all calls that were done at one time, whatever bundle they came with. Each begins with the
 * number of its bundle and its place among the calls of its kind there.
 */
export interface OutcomeBundle {
  readonly posts: readonly number[];
  readonly settlements: readonly number[];
  readonly claims: readonly Plain[];
  /** The texts of what was claimed. */
  readonly texts: readonly string[];
  readonly steps: readonly { readonly call: CallPlace; readonly forgotten: Forgotten }[];
  readonly failures: readonly CarriedFailure[];
  /** Of what was claimed: small ones in one piece, each larger one by itself, since a slow client may hold it for long. */
  readonly bodies: Uint8Array;
  readonly largeBodies: readonly Uint8Array[];
  /** What the commits since the last bundle wrote. */
  readonly written: { readonly jobs: number; readonly bytes: number };
  readonly hasVolatileRoom: boolean;
}

export type CallKind = 'posts' | 'claims' | 'settlements' | 'steps';

/** Where a call stands: in which bundle, and at which place among those of its kind. */
export interface CallPlace {
  readonly bundle: number;
  readonly index: number;
}

export interface CarriedFailure {
  readonly call: CallPlace;
  readonly kind: CallKind;
  readonly code: string | undefined;
  readonly message: string;
  readonly stack: string | undefined;
}

/** Said by the other thread when it has opened the database, or why it could not. */
export interface OpenedMessage {
  readonly opened: boolean;
  readonly errcode?: number;
  readonly message?: string;
}

/** A message with its place in the order of arrival. */
export interface ArrivingMessage extends NewMessage {
  readonly arrival: number;
}

/** What the hot path is asked to post: `mustPostAlone` says what is not for it. */
export interface HotPosting extends Pick<Posting, 'destination' | 'kind' | 'posted'> {
  readonly messages: readonly ArrivingMessage[];
  readonly once?: Pick<OnceUse, 'chain' | 'n' | 'expires'>;
}

const POST_OUTCOMES: readonly PostOutcome[] = ['stored', 'no-destination', 'once-used'];
const SETTLE_OUTCOMES: readonly SettleOutcome[] = ['done', 'dead', 'overtaken', 'gone'];
const VERDICTS: readonly Settlement['verdict'][] = ['acknowledge', 'return', 'extend'];

/** Stands where there is no text. */
const NONE = -1;

/** A posting with the places of its messages in the order of arrival; none for a topic, which has its own order. */
export interface PlacedPosting {
  readonly posting: Posting;
  readonly arrivals: readonly number[];
}

export function packPosts(postings: readonly PlacedPosting[], texts: Texts): Plain[] {
  const values: Plain[] = [];
  for (const { posting, arrivals } of postings) {
    const { destination, kind, posted, messages, once } = posting;
    values.push(destination, kind === 'topic' ? 1 : 0, posted, once?.chain ?? null, once?.n ?? 0, once?.expires ?? 0);
    values.push(messages.length);
    for (const [index, { id, contentType, headers, body, rank, expires, delayedUntil }] of messages.entries()) {
      const type = contentType === null ? NONE : texts.add(contentType);
      const arrival = arrivals[index] ?? 0;
      values.push(id, type, texts.add(headers), body.length, rank, expires, delayedUntil, arrival);
    }
  }
  return values;
}

export function unpackPosts(values: readonly Plain[], texts: readonly string[], bodies: Uint8Array): HotPosting[] {
  const next = reader(values, texts);
  const nextBody = bodyReader(bodies);
  const postings: HotPosting[] = [];
  while (next.more()) {
    const destination = next.number();
    const kind = next.number() === 1 ? 'topic' : 'queue';
    const posted = next.number();
    const chain = next.numberOrNull();
    const use = { n: next.number(), expires: next.number() };
    const messages: ArrivingMessage[] = [];
    for (let count = next.number(); count > 0; count--) {
      messages.push({
        id: next.number(),
        contentType: next.textOrNull(),
        headers: next.text(),
        body: nextBody(next.number()),
        rank: next.number(),
        expires: next.numberOrNull(),
        delayedUntil: next.numberOrNull(),
        arrival: next.number(),
      });
    }
    postings.push({ destination, kind, posted, messages, ...(chain !== null && { once: { chain, ...use } }) });
  }
  return postings;
}

export function packClaims(claims: readonly Claim[]): number[] {
  const values: number[] = [];
  for (const { destination, max, maxBytes, mode, due, token, now } of claims) {
    values.push(destination, max, maxBytes, mode === 'lease' ? 1 : 0, due, token, now);
  }
  return values;
}

export function unpackClaims(values: readonly number[]): Claim[] {
  const next = reader(values);
  const claims: Claim[] = [];
  while (next.more()) {
    claims.push({
      destination: next.number(),
      max: next.number(),
      maxBytes: next.number(),
      mode: next.number() === 1 ? 'lease' : 'consume',
      due: next.number(),
      token: next.number(),
      now: next.number(),
    });
  }
  return claims;
}

export function packSettlements(settlements: readonly Settlement[]): (number | null)[] {
  const values: (number | null)[] = [];
  for (const { id, token, verdict, due, maxDeliveries, now } of settlements) {
    values.push(id, token, VERDICTS.indexOf(verdict), due, maxDeliveries, now);
  }
  return values;
}

export function unpackSettlements(values: readonly (number | null)[]): Settlement[] {
  const next = reader(values);
  const settlements: Settlement[] = [];
  while (next.more()) {
    settlements.push({
      id: next.number(),
      token: next.number(),
      verdict: VERDICTS[next.number()] as Settlement['verdict'],
      due: next.numberOrNull(),
      maxDeliveries: next.number(),
      now: next.number(),
    });
  }
  return settlements;
}

export const postOutcomeNumber = (outcome: PostOutcome): number => POST_OUTCOMES.indexOf(outcome);
export const postOutcomeOf = (value: number): PostOutcome => POST_OUTCOMES[value] as PostOutcome;

export const settleOutcomeNumber = (outcome: SettleOutcome): number => SETTLE_OUTCOMES.indexOf(outcome);
export const settleOutcomeOf = (value: number): SettleOutcome => SETTLE_OUTCOMES[value] as SettleOutcome;

/** What one call claimed. */
export interface ClaimedByCall {
  readonly call: CallPlace;
  readonly messages: readonly ClaimedMessage[];
}

export function packClaimed(claimed: readonly ClaimedByCall[], texts: Texts): Plain[] {
  const values: Plain[] = [];
  const indexOf = (text: string | null): number => (text === null ? NONE : texts.add(text));
  for (const { call, messages } of claimed) {
    values.push(call.bundle, call.index, messages.length);
    for (const { id, posted, contentType, headers, name, deliveries, body } of messages) {
      values.push(id, posted, indexOf(contentType), texts.add(headers), indexOf(name), deliveries, body.length);
    }
  }
  return values;
}

/** `claimOf` gives the claim of a call: what it said itself does not travel back. */
export function unpackClaimed(
  { claims, texts, bodies, largeBodies }: Pick<OutcomeBundle, 'claims' | 'texts' | 'bodies' | 'largeBodies'>,
  claimOf: (call: CallPlace) => Claim,
): { call: CallPlace; messages: ClaimedMessage[] }[] {
  const next = reader(claims, texts);
  const nextBody = bodyReader(bodies, largeBodies);
  const claimed: { call: CallPlace; messages: ClaimedMessage[] }[] = [];
  while (next.more()) {
    const call = { bundle: next.number(), index: next.number() };
    const { destination, token } = claimOf(call);
    const messages: ClaimedMessage[] = [];
    for (let left = next.number(); left > 0; left--) {
      messages.push({
        id: next.number(),
        destination,
        position: null,
        posted: next.number(),
        contentType: next.textOrNull(),
        headers: next.text(),
        name: next.textOrNull(),
        deliveries: next.number(),
        token,
        body: nextBody(next.number()),
      });
    }
    claimed.push({ call, messages });
  }
  return claimed;
}

/** All bodies in one piece of memory of its own, so that it can change hands. */
export function packBodies(bodies: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let length = 0;
  for (const body of bodies) length += body.length;
  const packed = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const body of bodies) {
    packed.set(body, at);
    at += body.length;
  }
  return packed;
}

/** From this size on a claimed body travels by itself. */
export const LARGE_BODY = 64 * 1024;

/** Takes one body after another out of what was packed, and the large ones that travelled beside it, without a copy. */
function bodyReader({ buffer, byteOffset }: Uint8Array, large?: readonly Uint8Array[]): (length: number) => Buffer {
  let at = byteOffset;
  let taken = 0;
  return (length) => {
    if (large !== undefined && length >= LARGE_BODY) return asBuffer(large[taken++] as Uint8Array);
    const body = Buffer.from(buffer, at, length);
    at += length;
    return body;
  };
}

/** Texts that travel beside the values, each once; a value is the place of its text. */
export interface Texts {
  readonly all: readonly string[];
  add(text: string): number;
}

export function gatherTexts(): Texts {
  const all: string[] = [];
  const places = new Map<string, number>();
  return {
    all,
    add(text) {
      const known = places.get(text);
      if (known !== undefined) return known;
      places.set(text, all.length);
      return all.push(text) - 1;
    },
  };
}

/** Reads a list of values one by one. What they are is known: this file wrote them. */
function reader(values: readonly Plain[], texts: readonly string[] = []) {
  let at = 0;
  const number = (): number => values[at++] as number;
  return {
    more: () => at < values.length,
    number,
    numberOrNull: () => values[at++] as number | null,
    text: () => texts[number()] as string,
    textOrNull: () => texts[number()] ?? null,
  };
}
