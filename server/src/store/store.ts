/**
 * The seam between Waypost and its database. Everything above it speaks to these types; only this folder knows which
 * engine runs. Cold paths share one SQL text through `transaction`; the three hot paths (post, claim, settle) are
 * functions over what arrives together, implemented once per engine (see `MessageStore`).
 */
import { createHash } from 'node:crypto';
import type { Dialect } from './dialect.ts';

/** A value that both engines take as a statement parameter. Lists go through `Dialect.list`. */
export type SqlValue = string | number | null | Buffer | readonly string[] | readonly number[];

export type Row = Record<string, unknown>;

/** One transaction. A job may await its own statements only: it is re-run or shares its commit with others. */
export interface Tx {
  readonly dialect: Dialect;
  all<R = Row>(text: string, values?: readonly SqlValue[]): Promise<R[]>;
  get<R = Row>(text: string, values?: readonly SqlValue[]): Promise<R | undefined>;
  /** Runs a statement for its effect and tells how many rows it changed. */
  run(text: string, values?: readonly SqlValue[]): Promise<number>;
  /**
   * Hands over the last statement. It goes to the database together with the commit, so that a row which everybody wants
   * is locked no longer than the commit takes. Its outcome is not told, and nothing may follow it.
   */
  finish(text: string, values?: readonly SqlValue[]): Promise<void>;
}

/** What a node tells the others (and itself) after a commit. It may be lost; a look once a second catches that. */
export interface News {
  /** Destinations that have something new to take or read, with how many. */
  readonly arrived?: ReadonlyMap<number, number>;
  /** Destinations whose row changed or went away: forget what you remember of them. */
  readonly changed?: readonly number[];
  /** News may have been lost: look at everything. */
  readonly everything?: true;
}

export interface Store {
  readonly engine: 'sqlite' | 'postgresql';
  readonly dialect: Dialect;
  readonly messages: MessageStore;
  /** Milliseconds since the epoch by the one clock all nodes share: the database's, where there are several nodes. */
  now(): number;
  /** Runs a job atomically; resolves only after its commit is on disk. Jobs are pure: they may run more than once. */
  transaction<T>(job: (tx: Tx) => Promise<T>): Promise<T>;
  /** Runs statements that change nothing. Sees committed data only. */
  read<T>(job: (tx: Tx) => Promise<T>): Promise<T>;
  /** Like `read`, but all its statements see the same moment: for what is put together from several looks. */
  snapshot<T>(job: (tx: Tx) => Promise<T>): Promise<T>;
  /** A number never handed out before, also across restarts and nodes. Made from reserved blocks, so it writes nothing. */
  nextId(): number;
  /** The signing key of this service, made on first start and shared by all its nodes. */
  readonly secret: Buffer;
  announce(news: News): void;
  /** Calls back for every announcement of any node, this one included. */
  listen(listener: (news: News) => void): void;
  /** Rejects when the database does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The states of a delivery. The numbers stand literally in the SQL, so that the partial indexes match. */
export const READY = 0;
export const LEASED = 1;
export const DELAYED = 2;
/** Belongs to an open transaction and is seen by nobody. */
export const HELD = 4;
export const CONSUMED = 5;
export const DEAD = 6;
export const EXPIRED = 7;

/**
 * Groups of states as SQL, for the partial indexes and for every statement that is to use them. SQLite takes such an
 * index only for a statement that repeats its condition term by term. Comparisons, not lists: SQLite builds a table of
 * a list of three or more each time it checks a row, which made an insert three times as dear.
 */
export const IS_ASIDE = 'state > 0 AND state < 5';
export const IS_OVER = 'state >= 5';
export const CAN_EXPIRE = 'state < 3';

export interface NewMessage {
  /** Even: durable. Odd: volatile (may be lost with the process). See `isVolatile`. */
  readonly id: number;
  readonly contentType: string | null;
  /** The forwarded fields as a JSON array of [name, value]. */
  readonly headers: string;
  readonly body: Buffer;
  /** 9 - priority, so that every part of the order ascends. */
  readonly rank: number;
  readonly expires: number | null;
  /** When it becomes available; null: at once. */
  readonly delayedUntil: number | null;
}

/** Use of a create-next link: the n-th of its chain. */
export interface OnceUse {
  readonly chain: number;
  readonly n: number;
  /** Until when the chain is remembered. */
  readonly expires: number;
  /** A batch's link also remembers which messages it made. */
  readonly batch?: true;
}

/** Messages for one destination that are stored together or not at all. */
export interface Posting {
  readonly destination: number;
  readonly kind: 'queue' | 'topic';
  readonly posted: number;
  readonly messages: readonly NewMessage[];
  readonly once?: OnceUse;
  /** The id the client chose for its only message, so that a repeat is recognised. */
  readonly name?: MessageName;
  /** Held by this transaction: seen by nobody until it commits. */
  readonly held?: number;
  /** The most that may wait in the destination. */
  readonly limits?: { readonly length?: number; readonly bytes?: number };
}

export interface MessageName {
  readonly text: string;
  /** Of the id. */
  readonly hash: Buffer;
  /** Hash of body and Content-Type, by which a repeat is told from another message. */
  readonly content: Buffer;
}

/** `name-known`: the same message was posted before. `name-taken`: another one was, under this id. */
export type PostOutcome = 'stored' | 'no-destination' | 'once-used' | 'name-known' | 'name-taken' | 'full';

export interface Claim {
  readonly destination: number;
  readonly max: number;
  /** Stops before the message that would pass this many bytes; the first is given whatever its size. */
  readonly maxBytes: number;
  /** `consume` takes for good, `lease` hides until `due` and can be settled with the token. */
  readonly mode: 'consume' | 'lease';
  /** End of the lease, or of the retention of what is consumed. */
  readonly due: number;
  readonly token: number;
  readonly now: number;
}

export interface StoredMessage {
  readonly id: number;
  readonly destination: number;
  /** The position in a topic; null in a queue. */
  readonly position: number | null;
  readonly posted: number;
  readonly contentType: string | null;
  readonly headers: string;
  /** The id the client chose, if it did. */
  readonly name: string | null;
  readonly body: Buffer;
}

export interface ClaimedMessage extends StoredMessage {
  /** How often it has been handed out, this time included. */
  readonly deliveries: number;
  readonly token: number;
}

export interface Settlement {
  readonly id: number;
  readonly token: number;
  readonly verdict: 'acknowledge' | 'return' | 'extend';
  /** acknowledge: end of retention; extend: end of the lease; return: when it is available again, null for at once. */
  readonly due: number | null;
  /** return: from this many deliveries on, the message is dead instead of available. */
  readonly maxDeliveries: number;
  readonly now: number;
}

/**
 * `dead`: put back once too often, the redelivery duty moves it. `overtaken`: a newer delivery exists.
 * `acknowledged`: by this very delivery, so that there is no lease to extend.
 */
export type SettleOutcome = 'done' | 'dead' | 'overtaken' | 'acknowledged' | 'gone';

/** One step of forgetting messages that are consumed, dead or expired. */
export interface ForgetStep {
  /** The walk over the destinations goes on behind this one. */
  readonly after: number;
  readonly now: number;
  /** Of each destination so many are kept, as long as their retention lasts. */
  readonly kept: number;
  /** Milliseconds for which their client-chosen ids are still remembered. */
  readonly rememberIds: number;
}

export interface Forgotten {
  /** The last destination of this step. */
  readonly last: number;
  /** There are destinations behind it. */
  readonly more: boolean;
  /** One of them had more than fits into a step: the same step again finds more. */
  readonly full: boolean;
}

/** The hot paths. Each call is one atomic step; calls that arrive together share a commit and a round trip. */
export interface MessageStore {
  post(posting: Posting): Promise<PostOutcome>;
  /** Posts inside a transaction that does more. */
  postIn(tx: Tx, posting: Posting): Promise<PostOutcome>;
  /** Posts durable messages to a topic as the last thing that a transaction does. No topic: nothing is posted. */
  postLast(tx: Tx, posting: Pick<Posting, 'destination' | 'posted' | 'messages'>): Promise<void>;
  claim(claim: Claim): Promise<ClaimedMessage[]>;
  settle(settlement: Settlement): Promise<SettleOutcome>;
  /** As hot as the rest: every message that was received is forgotten in the end. */
  forgetFinished(step: ForgetStep): Promise<Forgotten>;
  /** Whether volatile messages still find room in memory; what does not is stored on disk. */
  hasVolatileRoom(): boolean;
}

/** Volatile messages have odd ids, so that an id alone tells where the message lies. */
export const isVolatile = (messageId: number): boolean => messageId % 2 === 1;

/** Of a client-chosen id: the key by which it is remembered. */
export const hashOfId = (id: string): Buffer => createHash('sha256').update(id).digest().subarray(0, 16);
