/**
 * A queue in small: what the service promises of one (A4, A6, A7, A11, A14 to A16), without a database.
 *
 *            post                     poll                    acknowledge
 *   (none) -------> ready <--------------------> leased ----------------------> consumed
 *      \  delay       ^  ^---- put back, lease over --'  ^--------- put back ----'
 *       '-> delayed --'            leased, too often -> dead (a copy goes to the dead-letter queue)
 *                                  ready or delayed, ttl over -> expired
 *
 * What is over by the clock happens when the redelivery duty takes its step, and consumed, dead and expired letters are
 * forgotten when the prune duty takes its own: both are operations of the model.
 */
import { byDueTime, DEFAULT_PRIORITY, type Draft, isOver, later } from './letter.ts';

export type State = 'ready' | 'leased' | 'delayed' | 'consumed' | 'dead' | 'expired';

/** A message in a queue. */
export interface Letter {
  readonly queue: QueueModel;
  readonly draft: Draft;
  /** The id the client chose. */
  readonly name: string | undefined;
  /** Of a dead letter: the queue it came from. */
  readonly origin: QueueModel | undefined;
  /** Its place in the order of arrival, kept for life. */
  readonly place: number;
  readonly expires: number | null;
  id: number | undefined;
  state: State;
  /** When its state ends by itself. */
  due: number | null;
  deliveries: number;
  /** The newest delivery: its fencing token. */
  delivery: number;
}

/** A3, in seconds. */
export interface QueueSettings {
  lease?: number;
  'max-deliveries'?: number;
  ttl?: number;
  delay?: number;
  retention?: number;
  'max-length'?: number;
}

export type Verdict =
  | { readonly kind: 'acknowledge' }
  | { readonly kind: 'return'; readonly delay: number }
  | { readonly kind: 'extend'; readonly by: number };

export interface Rules {
  now(): number;
  /** Milliseconds a client-chosen id is remembered after its message left (A6). */
  readonly rememberIds: number;
}

export interface QueueModel {
  readonly name: string;
  change(settings: QueueSettings): void;
  /** Undefined: the queue is full. */
  post(drafts: readonly Draft[]): Letter[] | undefined;
  put(id: string, draft: Draft): Letter | 'known' | 'taken' | 'full';
  poll(max: number): Letter[];
  receive(max: number): Letter[];
  peek(max: number): Letter[];
  settle(letter: Letter, delivery: number, verdict: Verdict): 'done' | 'overtaken' | 'acknowledged' | 'gone';
  redeliver(deadLetters: QueueModel): void;
  bury(dead: Letter): void;
  redrive(max: number): number;
  takeBack(draft: Draft): boolean;
  purge(): number;
  remove(letter: Letter): boolean;
  prune(): void;
  loseVolatile(): void;
  stateOf(letter: Letter): string;
  /** What a client-chosen id stands for. */
  named(id: string): Letter | undefined;
  counts(): Record<'available' | 'delayed' | 'leased' | 'dead', number>;
  /** How much is remembered. */
  kept(): { messages: number; ids: number };
}

const LEASE = 30;
const MAX_DELIVERIES = 10;
const RETENTION = 3600;
/** How long an expired letter can still be looked at. */
const EXPIRED_KEPT = 3600;

export function createQueueModel(name: string, { now, rememberIds }: Rules, isDeadLetterQueue = false): QueueModel {
  let letters: Letter[] = [];
  let settings: QueueSettings = {};
  let places = 0;
  let deliveries = 0;
  const names = new Map<string, { content: string; letter: Letter; forget: number | undefined }>();

  /** A4: by priority, 9 first, then by arrival. */
  const priorityOf = ({ draft }: Letter): number => draft.priority ?? DEFAULT_PRIORITY;
  const inOrder = (a: Letter, b: Letter): number => priorityOf(b) - priorityOf(a) || a.place - b.place;
  const isWaiting = ({ state }: Letter): boolean => state === 'ready' || state === 'leased' || state === 'delayed';

  /** A4: a message whose ttl is over is not delivered, also before anybody has noted that it is. */
  const head = (max: number): Letter[] =>
    letters
      .filter(({ state, expires }) => state === 'ready' && !isOver(expires, now()))
      .sort(inOrder)
      .slice(0, max);

  function arrive(draft: Draft, more: Partial<Letter>): Letter {
    const letter: Letter = {
      queue,
      draft,
      name: undefined,
      origin: undefined,
      place: ++places,
      expires: null,
      id: undefined,
      state: 'ready',
      due: null,
      deliveries: 0,
      delivery: 0,
      ...more,
    };
    letters.push(letter);
    return letter;
  }

  function leave(gone: (letter: Letter) => boolean): number {
    const before = letters.length;
    for (const letter of letters.filter(gone)) {
      // A6: remembered from the moment the message is gone.
      const known = letter.name === undefined ? undefined : names.get(letter.name);
      if (known?.letter === letter) known.forget = now() + rememberIds;
    }
    letters = letters.filter((letter) => !gone(letter));
    return before - letters.length;
  }

  const lifeOf = (ttl: number | undefined): number | null => (ttl === undefined ? null : later(now(), ttl));

  /** A4: what the poster says counts, else what the queue is set to. */
  function placed({ delay = settings.delay ?? 0, ttl = settings.ttl }: Draft): Partial<Letter> {
    return {
      state: delay > 0 ? 'delayed' : 'ready',
      due: delay > 0 ? later(now(), delay) : null,
      expires: lifeOf(ttl),
    };
  }

  const hasRoom = (count: number): boolean =>
    letters.filter(isWaiting).length + count <= (settings['max-length'] ?? Number.POSITIVE_INFINITY);

  /** A16: as many deliveries as are allowed. A dead-letter queue allows any number. */
  const isSpent = (letter: Letter): boolean =>
    !isDeadLetterQueue && letter.deliveries >= (settings['max-deliveries'] ?? MAX_DELIVERIES);

  function take(max: number, state: 'leased' | 'consumed', seconds: number): Letter[] {
    const taken = head(max);
    const delivery = ++deliveries;
    for (const letter of taken) {
      letter.state = state;
      letter.due = later(now(), seconds);
      letter.deliveries++;
      letter.delivery = delivery;
    }
    return taken;
  }

  const queue: QueueModel = {
    name,
    change(changed) {
      settings = changed;
    },

    /** A13: all or nothing. */
    post(drafts) {
      return hasRoom(drafts.length) ? drafts.map((draft) => arrive(draft, placed(draft))) : undefined;
    },

    /** A6: the id stands for its first message as long as it is remembered. A refused PUT leaves nothing behind. */
    put(id, draft) {
      const content = `${draft.contentType} ${draft.body}`;
      const known = names.get(id);
      if (known !== undefined) return known.content === content ? 'known' : 'taken';
      if (!hasRoom(1)) return 'full';
      // Its id is kept for long, so the message is durable whatever was asked.
      const letter = arrive({ ...draft, volatile: false }, { ...placed(draft), name: id });
      names.set(id, { content, letter, forget: undefined });
      return letter;
    },

    /** A14: hidden from others while the lease lasts. */
    poll: (max) => take(max, 'leased', settings.lease ?? LEASE),
    /** A7: taken off the queue for good; `peek` looks at the same without taking. */
    receive: (max) => take(max, 'consumed', settings.retention ?? RETENTION),
    peek: head,

    /**
     * A15: only the newest delivery can settle, and only a message that is neither dead nor expired. Verdicts can be
     * switched and repeated; the first acknowledgement is the one that counts for retention.
     */
    settle(letter, delivery, verdict) {
      if (!letters.includes(letter)) return 'gone';
      const { state } = letter;
      if (letter.delivery !== delivery || state === 'dead' || state === 'expired') return 'overtaken';
      if (verdict.kind === 'acknowledge') {
        if (state === 'consumed') return 'done';
        letter.state = 'consumed';
        letter.due = later(now(), settings.retention ?? RETENTION);
      } else if (verdict.kind === 'extend') {
        if (state === 'consumed') return 'acknowledged';
        letter.state = 'leased';
        letter.due = later(now(), verdict.by);
      } else if (isSpent(letter)) {
        // A16: put back once too often. The duty moves it with its next step; until then the verdict can be switched.
        letter.state = 'leased';
        letter.due = now();
      } else {
        letter.state = verdict.delay > 0 ? 'delayed' : 'ready';
        letter.due = verdict.delay > 0 ? later(now(), verdict.delay) : null;
      }
      return 'done';
    },

    /** A16: the step of the redelivery duty. */
    redeliver(deadLetters) {
      const over = letters.filter(
        ({ state, due }) => (state === 'leased' || state === 'delayed') && isOver(due, now()),
      );
      for (const letter of over.sort(byDueTime)) {
        if (letter.state === 'leased' && isSpent(letter)) {
          letter.state = 'dead';
          letter.due = later(now(), settings.retention ?? RETENTION);
          deadLetters.bury(letter);
        } else {
          letter.state = 'ready';
          letter.due = null;
        }
      }
      // A4: a leased message may still be acknowledged; it expires when its lease is over.
      for (const letter of letters) {
        if (letter.state === 'leased' || !isWaiting(letter) || !isOver(letter.expires, now())) continue;
        letter.state = 'expired';
        letter.due = later(now(), EXPIRED_KEPT);
      }
    },

    /** A16: a copy at the end of the dead-letter queue, durable and without ttl, that knows where it came from. */
    bury(dead) {
      arrive({ ...dead.draft, volatile: false }, { origin: dead.queue });
    },

    /** A16: back to where they came from, oldest first, as new messages. What was posted here directly stays. */
    redrive(max) {
      const moved: Letter[] = [];
      for (const letter of head(Number.POSITIVE_INFINITY)) {
        if (moved.length < max && letter.origin?.takeBack(letter.draft)) moved.push(letter);
      }
      leave((letter) => moved.includes(letter));
      return moved.length;
    },
    /** False when it is full. What comes back lives as long as the queue says. */
    takeBack(draft) {
      if (!hasRoom(1)) return false;
      arrive(draft, { expires: lifeOf(settings.ttl) });
      return true;
    },

    /** A16: drops everything that waits, leased messages included. */
    purge: () => leave(isWaiting),
    /** A11: false when it is gone already. */
    remove: (letter) => leave((each) => each === letter) > 0,

    /** The step of the prune duty: what has passed its retention is forgotten, then ids that were remembered long enough. */
    prune() {
      leave((letter) => !isWaiting(letter) && isOver(letter.due, now()));
      for (const [id, { forget }] of names) if (forget !== undefined && forget <= now()) names.delete(id);
    },

    /** A5: what is not persistent may be lost with the process. */
    loseVolatile: () => void leave(({ draft }) => draft.volatile),

    /** A11: the state as clients see it; what is over by the clock counts already. */
    stateOf(letter) {
      if (!letters.includes(letter)) return 'gone';
      // A lease is good until it is over, whatever becomes of the message's life.
      if (letter.state === 'leased' && !isOver(letter.due, now())) return 'leased';
      if (isWaiting(letter) && isOver(letter.expires, now())) return 'expired';
      if (letter.state === 'consumed') return 'acknowledged';
      if (letter.state === 'ready' || (isWaiting(letter) && isOver(letter.due, now()))) return 'available';
      return letter.state;
    },
    named: (id) => names.get(id)?.letter,

    /** A2: what has outlived its ttl counts only while it is leased. */
    counts() {
      const isLost = ({ state, expires }: Letter): boolean =>
        (state === 'ready' || state === 'delayed') && isOver(expires, now());
      const count = (wanted: State): number =>
        letters.filter((letter) => letter.state === wanted && !isLost(letter)).length;
      return { available: count('ready'), delayed: count('delayed'), leased: count('leased'), dead: count('dead') };
    },
    kept: () => ({ messages: letters.length, ids: names.size }),
  };
  return queue;
}
