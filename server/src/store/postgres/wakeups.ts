/**
 * Carries news between the nodes by NOTIFY, after the commit and on a connection of its own: inside the commit it would
 * cost more than half of the throughput. News that gathers while a NOTIFY is away goes out together with the next.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { News } from '../store.ts';
import type { Waker } from '../waker.ts';
import type { Floors, Place } from './floors.ts';
import type { Link } from './link.ts';
import { decodeNews, encodeNews, type Outgoing, restAfter } from './news.ts';

const CHANNEL = 'waypost';
const LISTEN = `LISTEN ${CHANNEL}`;
const BEAT = 5_000;
/** A node that has heard of no other for this long is alone and saves its notifications. */
const ALONE_AFTER = 3 * BEAT;
const RETRY_PAUSE = 250;
/** News about more destinations than this becomes "everything". */
const MAX_GATHERED = 10_000;

export interface Wakeups {
  announce(news: News): void;
  /** To be called for each payload that the listening connection gets. */
  heard(payload: string): void;
  /** To be called when the listening connection is lost. */
  lost(): void;
  /** Resolves when this node hears the others. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface WakeupParts {
  readonly speaking: Link;
  readonly listening: Link;
  readonly waker: Waker;
  readonly floors: Floors;
  readonly log: (event: string, details?: object) => void;
  /** Notify even when no other node was heard. */
  readonly notifyAlone: boolean;
}

export function createWakeups({ speaking, listening, waker, floors, log, notifyAlone }: WakeupParts): Wakeups {
  const me = randomBytes(6).toString('base64url');
  let pending = nothing();
  let sending: Promise<void> | undefined;
  let lastHeard = performance.now();
  let stopped = false;
  let failing = false;
  /** The life of the listening connection in which LISTEN was said. */
  let listened = -1;
  let wakeListener: (() => void) | undefined;
  let listeningLoop: Promise<void> = Promise.resolve();
  const stopping = new AbortController();
  const beat = setInterval(() => {
    hello();
    // A connection that fell silent is noticed only by asking. Asked so, the server goes on telling what it is for.
    listening.query(LISTEN).catch(() => {});
  }, BEAT);
  beat.unref();

  function hello(): void {
    pending.hello = true;
    send();
  }

  function announce(news: News): void {
    gather(news);
    waker.tell(news);
    if (notifyAlone || performance.now() - lastHeard < ALONE_AFTER) send();
    else pending = nothing();
  }

  function gather({ arrived, changed, everything }: News): void {
    for (const [destination, count] of arrived ?? []) {
      const lowest = floors.takePosted(destination, count);
      // Made available by something else than a post: it may lie anywhere in the queue.
      if (lowest === undefined) floors.forget(destination);
      const known = pending.arrived.get(destination);
      pending.arrived.set(destination, {
        count: count + (known?.count ?? 0),
        lowest: known === undefined ? lowest : lower(lowest, known.lowest),
      });
    }
    for (const destination of changed ?? []) pending.changed.add(destination);
    if (everything || pending.arrived.size + pending.changed.size > MAX_GATHERED) pending.everything = true;
  }

  /** One NOTIFY at a time; what cannot be sent is kept and tried again. */
  function send(): void {
    if (stopped || sending !== undefined) return;
    const outgoing = pending;
    pending = nothing();
    sending = speaking
      .query('SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [CHANNEL, encodeNews(me, outgoing)])
      .then(
        async () => {
          const rest = restAfter(outgoing);
          if (rest > 0) await pause(rest, undefined, { signal: stopping.signal }).catch(() => {});
          sending = undefined;
          failing = false;
          if (!isNothing(pending)) send();
        },
        async (error) => {
          if (!failing) log('notify-failed', { error });
          failing = true;
          // Others may have missed anything by now.
          pending.everything = true;
          await pause(RETRY_PAUSE, undefined, { signal: stopping.signal }).catch(() => {});
          sending = undefined;
          send();
        },
      );
  }

  function heard(payload: string): void {
    if (payload.startsWith(`${me};`)) return;
    const news = decodeNews(payload);
    if (news === undefined) return;
    lastHeard = performance.now();
    if (news.everything) floors.forget();
    for (const [destination, lowest] of news.lowest) {
      if (lowest === undefined) floors.forget(destination);
      else floors.lower(destination, lowest);
    }
    if (news.everything || news.arrived.size > 0 || news.changed.length > 0) {
      waker.tell({
        arrived: news.arrived,
        changed: news.changed,
        ...(news.everything ? { everything: true as const } : {}),
      });
    }
  }

  /** Listens until the connection is lost, then again, for ever. */
  async function keepListening(): Promise<void> {
    while (!stopped) {
      await new Promise<void>((resolve) => {
        wakeListener = resolve;
        if (stopped || listened !== listening.life) resolve();
      });
      while (!stopped && listened !== listening.life) {
        await listen().catch(() => pause(RETRY_PAUSE, undefined, { signal: stopping.signal }).catch(() => {}));
      }
      if (stopped) return;
      log('listening-again');
      floors.forget();
      waker.tell({ everything: true });
      hello();
    }
  }

  async function listen(): Promise<void> {
    const { life } = await listening.query(LISTEN);
    listened = life;
  }

  return {
    announce,
    heard,
    lost: () => wakeListener?.(),
    async start() {
      await listen();
      listeningLoop = keepListening();
      hello();
    },
    async stop() {
      stopped = true;
      clearInterval(beat);
      stopping.abort();
      wakeListener?.();
      await Promise.all([listeningLoop, sending]);
      await Promise.all([speaking.close(), listening.close()]);
    },
  };
}

function nothing(): Outgoing {
  return { arrived: new Map(), changed: new Set(), everything: false, hello: false };
}

function isNothing({ arrived, changed, everything, hello }: Outgoing): boolean {
  return arrived.size === 0 && changed.size === 0 && !everything && !hello;
}

/** The lower of two places; an unknown one may be anywhere. */
function lower(a: Place | undefined, b: Place | undefined): Place | undefined {
  if (a === undefined || b === undefined) return undefined;
  return a.rank < b.rank || (a.rank === b.rank && a.ord < b.ord) ? a : b;
}
