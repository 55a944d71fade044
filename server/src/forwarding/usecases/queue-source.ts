/**
 * Messages of a queue for its subscribers: each message is leased to one of them, without an end, until its target has it,
 * it is dead, or the subscriber is stopped. Taking note of one delivery and taking the next message is one commit.
 */
import type { Destination } from '../../messaging/destination.ts';
import { findDestinationById } from '../../messaging/queries/destinations.ts';
import type { Bury } from '../../messaging/usecases/burial.ts';
import type { Store, StoredMessage, Tx } from '../../store/store.ts';
import { consumeHeld, countReady, expireHeld, holdNext, putBackHeld, readHeld } from '../queries/holding.ts';
import { deleteSubscriber, type Note, writeNotes } from '../queries/serving.ts';
import { REMOVED } from '../subscriber.ts';
import { Interrupted, type Runner, takeNote } from './runner.ts';
import {
  BATCH_BYTES,
  BATCH_MESSAGES,
  BATCH_WAIT,
  clearFailures,
  type Next,
  type Source,
  wantedBy,
  withinBytes,
} from './source.ts';

/** Expired messages are kept as long as the redelivery duty keeps them. */
const KEPT_EXPIRED = 3_600_000;

/** For which message a link is noted: the next one, when there are both. */
const noted = (link: string | null, next: number | undefined): number | null => (link === null ? null : (next ?? null));

const NO_FAILURES = { state: 0, tries: 0, nextTry: null, failingSince: null, failingAt: null } as const;

export function createQueueSource(store: Store, node: { readonly id: string }, bury: Bury): Source {
  /** The last statement of a job: without this node's name on the subscriber nothing of it happens. */
  async function noteIn(tx: Tx, owner: string, note: Note): Promise<void> {
    const written = await writeNotes(tx, owner, [note]);
    if (!written.has(note.id)) throw new Interrupted('the subscriber was changed');
  }

  const holdWanted = (runner: Runner) => ({
    max: runner.subscriber.rel === 'post-batch' ? BATCH_MESSAGES : 1,
    maxBytes: BATCH_BYTES,
    now: store.now(),
  });

  /** Takes over what a job has changed, once it is durable. */
  function keep(runner: Runner, held: readonly StoredMessage[], linkFor: number | null): void {
    runner.buffer = [...held];
    runner.subscriber.held = held.map(({ id }) => id);
    runner.subscriber.linkFor = linkFor;
  }

  /** What it holds already: after a restart, after a failure, or on another node than before. */
  async function held(runner: Runner): Promise<readonly StoredMessage[]> {
    if (runner.buffer.length > 0) return runner.buffer;
    const { token, held: ids, link, linkFor } = runner.subscriber;
    const now = store.now();
    const owner = node.id;
    const base = takeNote(runner);
    const outcome = await store.transaction(async (tx) => {
      const found = await readHeld(tx, ids, token);
      const isOver = ({ expires }: { expires: number | null }): boolean => expires !== null && expires <= now;
      const over = found.filter(isOver).map(({ message }) => message.id);
      const alive = found.filter((each) => !isOver(each)).map(({ message }) => message);
      const isSame = alive.length === ids.length;
      if (over.length > 0) await expireHeld(tx, over, token, now, now + KEPT_EXPIRED);
      const failures = isSame ? {} : NO_FAILURES;
      if (!isSame || base.failed > 0)
        await noteIn(tx, owner, { ...base, ...failures, held: alive.map(({ id }) => id) });
      return { alive, isSame };
    });
    if (!outcome.isSame) clearFailures(runner);
    keep(runner, outcome.alive, linkFor);
    runner.subscriber.link = link;
    return outcome.alive;
  }

  async function take(runner: Runner): Promise<readonly StoredMessage[]> {
    const { destination, subscriber } = runner;
    const wanted = holdWanted(runner);
    const owner = node.id;
    const base = takeNote(runner);
    const { token, link } = subscriber;
    // A link that was noted for a message that is not held any more may be used up.
    const usable = subscriber.linkFor === null ? link : null;
    const found = await store.transaction(async (tx) => {
      const ids = await holdNext(tx, destination.id, token, wanted);
      if (ids.length === 0) return [];
      await noteIn(tx, owner, { ...base, link: usable, linkFor: noted(usable, ids[0]), held: ids });
      return (await readHeld(tx, ids, token)).map(({ message }) => message);
    });
    if (found.length === 0) return [];
    subscriber.link = usable;
    runner.linkTried = false;
    keep(runner, found, noted(usable, found[0]?.id));
    return found;
  }

  /** A batch is worth sending when it is full, or when its first message has waited long enough. */
  async function batchIsDue(runner: Runner): Promise<Next | true> {
    const now = store.now();
    const ready = await store.read((tx) => countReady(tx, runner.destination.id, now, BATCH_MESSAGES));
    if (ready === 0) {
      runner.batchSince = undefined;
      return undefined;
    }
    runner.batchSince ??= now;
    if (ready >= BATCH_MESSAGES || now >= runner.batchSince + BATCH_WAIT) return true;
    return { wait: runner.batchSince + BATCH_WAIT };
  }

  const keptUntil = ({ effective }: Destination, now: number): number => Math.ceil(now + effective.retention * 1000);

  return {
    async next(runner) {
      if (runner.subscriber.held.length > 0) {
        const present = await held(runner);
        if (present.length > 0) return withinBytes(present, wantedBy(runner));
      }
      if (runner.subscriber.rel === 'post-batch') {
        const due = await batchIsDue(runner);
        if (due !== true) return due;
        runner.batchSince = undefined;
      }
      const taken = await take(runner);
      return taken.length === 0 ? undefined : withinBytes(taken, wantedBy(runner));
    },

    async delivered(runner, messages, link) {
      const { subscriber, destination } = runner;
      const done = messages.map(({ id }) => id);
      const rest = runner.buffer.slice(messages.length);
      runner.alone = Math.max(0, runner.alone - messages.length);
      clearFailures(runner);
      runner.forwarded += messages.length;
      const { token } = subscriber;
      const owner = node.id;
      const now = store.now();
      const wanted = holdWanted(runner);
      const base = { ...takeNote(runner), link };
      // A batch is gathered anew; what goes one by one takes its next message along.
      const takesNext = rest.length === 0 && subscriber.rel !== 'post-batch' && subscriber.state <= 1 && !runner.stop;
      const next = await store.transaction(async (tx) => {
        await consumeHeld(tx, done, token, keptUntil(destination, now));
        const taken = takesNext ? await holdNext(tx, destination.id, token, wanted) : [];
        const ids = takesNext ? taken : rest.map(({ id }) => id);
        await noteIn(tx, owner, { ...base, linkFor: noted(link, ids[0]), held: ids });
        return takesNext ? (await readHeld(tx, ids, token)).map(({ message }) => message) : rest;
      });
      subscriber.link = link;
      runner.linkTried = false;
      keep(runner, next, noted(link, next[0]?.id));
    },

    async bury(runner, messages, reason, last) {
      const { subscriber } = runner;
      // What was known when the delivery began may be another thing by now: a dead-letter queue itself, for example.
      const found = await store.read((tx) => findDestinationById(tx, runner.destination.id));
      const destination = found ?? runner.destination;
      if (destination.effective['dead-letter'] === undefined) return false;
      const dead = messages.map(({ id }) => ({ id, reason }));
      const rest = runner.buffer.slice(messages.length);
      runner.dead += messages.length;
      runner.alone = Math.max(0, runner.alone - messages.length);
      clearFailures(runner);
      const owner = node.id;
      const now = store.now();
      const base = { ...takeNote(runner), link: null, linkFor: null, held: rest.map(({ id }) => id) };
      const target = await store.transaction(async (tx) => {
        const present = await readHeld(
          tx,
          messages.map(({ id }) => id),
          subscriber.token,
        );
        const stillThere = new Set(present.map(({ message }) => message.id));
        const queue = await bury(
          tx,
          destination,
          dead.filter(({ id }) => stillThere.has(id)),
          now,
        );
        await noteIn(tx, owner, base);
        await last(tx);
        return queue;
      });
      subscriber.link = null;
      keep(runner, rest, null);
      if (target !== undefined) {
        const changed = target.isDeadLetter ? [] : [target.id];
        store.announce({ arrived: new Map([[target.id, dead.length]]), changed });
      }
      return true;
    },

    async letGo(runner, last) {
      const { subscriber, destination } = runner;
      const { id, token, state, held: ids } = subscriber;
      // Others may deliver what goes back, so whatever was noted for it is void.
      if (subscriber.linkFor !== null) {
        subscriber.link = null;
        subscriber.linkFor = null;
      }
      const owner = node.id;
      const note = takeNote(runner, { held: [], disowned: true });
      const returned = await store.transaction(async (tx) => {
        const count = await putBackHeld(tx, ids, token);
        await noteIn(tx, owner, note);
        if (state === REMOVED) await deleteSubscriber(tx, id);
        await last?.(tx);
        return count;
      });
      if (returned > 0) store.announce({ arrived: new Map([[destination.id, returned]]) });
    },
  };
}
