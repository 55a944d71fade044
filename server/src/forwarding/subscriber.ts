/** Subscribers: targets to which the messages of a destination are forwarded. */
import { createHash } from 'node:crypto';
import type { DestinationKind } from '../messaging/settings.ts';
import { Problem } from '../problems.ts';

/** How a target wants to be spoken to: one POST, the once-only pattern, or batches. */
export const RELATIONS = ['post-message', 'post-message-once', 'post-batch'] as const;

export type Relation = (typeof RELATIONS)[number];

export const ACTIVE = 0;
export const RETRYING = 1;
export const DISABLED = 2;
/** Seen by nobody any more; its owner still has to let go of what it holds. */
export const REMOVED = 3;

export const stateNames: Readonly<Record<number, 'active' | 'retrying' | 'disabled'>> = {
  [ACTIVE]: 'active',
  [RETRYING]: 'retrying',
  [DISABLED]: 'disabled',
};

/** What someone asks for when registering. */
export interface Registration {
  readonly rel: Relation;
  /** A URL, or a path of this service. */
  readonly href: string;
  readonly secret: string | null;
}

/** How far a subscriber has come. */
export interface Progress {
  readonly state: number;
  /** Why it is disabled, when Waypost did it. */
  readonly reason: string | null;
  /** Topic: the last position forwarded. */
  readonly position: number;
  /** Queue: the messages it holds, in order. */
  readonly held: readonly number[];
  /** The create-next link for the next message. */
  readonly link: string | null;
  /** The message that may have been posted to `link` already; null: none was. */
  readonly linkFor: number | null;
  /** Failed tries of the present message. */
  readonly tries: number;
  readonly nextTry: number | null;
  readonly failingSince: number | null;
  /** Topic: the position of the message that is being tried in vain. */
  readonly failingAt: number | null;
  readonly forwarded: number;
  readonly failed: number;
  readonly dead: number;
}

export interface Subscriber extends Registration, Progress {
  readonly id: number;
  readonly destination: number;
  readonly kind: DestinationKind;
  readonly created: number;
  /** Under which messages of a queue are leased to it. */
  readonly token: number;
  /** Rises when someone sets it going anew. */
  readonly epoch: number;
}

const MAX_HREF = 4000;

/** Reads what a client sends to register a subscriber. */
export function readRegistration(fields: { rel?: unknown; href?: unknown; secret?: unknown }): Registration {
  const { rel, href, secret } = fields;
  const known = RELATIONS.find((relation) => relation === rel);
  if (known === undefined) {
    throw invalid('rel', `must be one of ${RELATIONS.join(', ')}, which tells how to forward`);
  }
  if (typeof href !== 'string' || href.trim() === '') throw invalid('href', 'must be the URL to forward to');
  if (href.length > MAX_HREF) throw invalid('href', `must not be longer than ${MAX_HREF} characters`);
  if (/[\0-\x20\x7f]/.test(href.trim())) throw invalid('href', 'must not hold spaces or control characters');
  if (secret === undefined || secret === null || secret === '') return { rel: known, href: href.trim(), secret: null };
  if (typeof secret !== 'string' || !isSecret(secret)) {
    throw invalid('secret', 'must be whsec_ followed by the base64 form of 16 to 128 bytes');
  }
  return { rel: known, href: href.trim(), secret };
}

export function invalid(name: string, detail: string): Problem {
  return new Problem('invalid', `${name} ${detail}`, { errors: [{ pointer: `/${name}`, detail }] });
}

const PREFIX = 'whsec_';
const MIN_SECRET = 16;
const MAX_SECRET = 128;

/** The key of a secret as Standard Webhooks writes it. */
export const keyOf = (secret: string): Buffer =>
  Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64');

function isSecret(secret: string): boolean {
  if (!/^(whsec_)?[A-Za-z0-9+/]+={0,2}$/.test(secret)) return false;
  const { length } = keyOf(secret);
  return length >= MIN_SECRET && length <= MAX_SECRET;
}

/** By which the same registration is recognised. */
export const hashOfTarget = ({ rel, href }: Pick<Registration, 'rel' | 'href'>): Buffer =>
  createHash('sha256').update(`${rel} ${href}`).digest().subarray(0, 16);
