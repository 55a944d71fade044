/** Messages as the rules see them: states, times and what a posting asks for. */
import { createHash } from 'node:crypto';
import type { QueryValues } from '../http/parameters.ts';
import { boolean, integer, secondsUpTo } from '../kinds.ts';
import { DEAD, DELAYED, EXPIRED, HELD, LEASED, READY } from '../store/store.ts';
import type { EffectiveSettings } from './settings.ts';

export type MessageState = 'available' | 'delayed' | 'leased' | 'acknowledged' | 'dead' | 'expired';

const stateNames: Readonly<Record<number, MessageState>> = {
  [READY]: 'available',
  [LEASED]: 'leased',
  [HELD]: 'leased',
  [DELAYED]: 'delayed',
  [DEAD]: 'dead',
  [EXPIRED]: 'expired',
};

/** The state as clients see it. What nobody has noted yet, that a lease, a delay or a life is over, counts already. */
export function stateOf(
  delivery: { state: number; due: number | null; expires: number | null },
  now: number,
): MessageState {
  const waiting = delivery.state === READY || delivery.state === LEASED || delivery.state === DELAYED;
  const over = delivery.due !== null && delivery.due <= now;
  // A lease is good until it is over, whatever becomes of the message's life.
  if (delivery.state === LEASED && !over) return 'leased';
  if (waiting && delivery.expires !== null && delivery.expires <= now) return 'expired';
  if (waiting && over) return 'available';
  return stateNames[delivery.state] ?? 'acknowledged';
}

/** The same of a message that was found. Those of a topic have no delivery, but their life may be over. */
export function messageState(
  { delivery, expires }: { delivery: Parameters<typeof stateOf>[0] | undefined; expires: number | null },
  now: number,
): MessageState {
  if (delivery !== undefined) return stateOf(delivery, now);
  return expires !== null && expires <= now ? 'expired' : 'available';
}

const MOST_SECONDS = 365 * 86_400;

export const postingQuery = {
  persistent: { kind: boolean, help: 'false: no disk write, and lost when the service restarts (default true)' },
  delay: {
    kind: secondsUpTo(MOST_SECONDS),
    help: 'seconds before the message can be received',
    alsoCalled: ['delayseconds'],
  },
  ttl: {
    kind: secondsUpTo(MOST_SECONDS, { above: 0 }),
    help: 'seconds after which it is no longer delivered',
    alsoCalled: ['timetolive', 'expiration', 'expires'],
  },
  priority: { kind: integer(0, 9), help: '0 to 9, 9 first (default 4)', alsoCalled: ['prio'] },
} as const;

export type PostingWishes = QueryValues<typeof postingQuery>;

/** So many seconds from a moment, in whole milliseconds: the store takes no parts of one. */
export const timeAfter = (moment: number, seconds: number): number => Math.ceil(moment + seconds * 1000);

const DEFAULT_PRIORITY = 4;

/** Order and times of a new message, from what the poster wished and what the destination sets. */
export function placement(wishes: PostingWishes, settings: EffectiveSettings, now: number) {
  const delay = wishes.delay ?? settings.delay ?? 0;
  const ttl = wishes.ttl ?? settings.ttl;
  return {
    rank: 9 - (wishes.priority ?? DEFAULT_PRIORITY),
    delayedUntil: delay > 0 ? timeAfter(now, delay) : null,
    expires: ttl === undefined ? null : timeAfter(now, ttl),
  };
}

/** What Waypost notes with a message, a dead letter for example. The names cannot be fields of a request, so no client can send them. */
export const DEAD_LETTER_ORIGIN = ':origin';
export const DEAD_LETTER_REASON = ':reason';
/** The path of what an event of Waypost itself is about. */
export const ABOUT = ':about';

/** Of what makes two messages under one id the same: body and Content-Type, nothing else (A6). */
export function hashOfContent(contentType: string | null, body: Buffer): Buffer {
  const hash = createHash('sha256');
  hash
    .update(contentType === null ? '-' : `+${contentType}`)
    .update('\0')
    .update(body);
  return hash.digest().subarray(0, 16);
}
