/** Messages of a topic for its subscribers: each has a position of its own, which only ever rises. */
import type { Store } from '../../store/store.ts';
import { deleteSubscriber, writeNotes } from '../queries/serving.ts';
import { REMOVED } from '../subscriber.ts';
import { type Notes, noteRunner } from './notes.ts';
import { Interrupted, type Runner, takeNote } from './runner.ts';
import { BATCH_MESSAGES, BATCH_WAIT, clearFailures, type Source, wantedBy, withinBytes } from './source.ts';
import type { TopicWindow } from './topic-window.ts';

/** Read ahead for a subscriber that gets its messages one by one. */
const AHEAD = 32;
/**
 * With post-message a crash may repeat messages, so a busy subscriber is noted now and then rather than after each one:
 * after so many messages, and when it has nothing more to send.
 */
const NOTED_AFTER = 32;
/** Beyond this it waits for a note that is still being written. */
const MOST_UNNOTED = 64;

export function createTopicSource(
  store: Store,
  node: { readonly id: string },
  window: TopicWindow,
  notes: Notes,
): Source {
  /** Writes where the runner stands while it goes on; one note at a time, which says how far it came meanwhile. */
  function noteBehind(runner: Runner): void {
    runner.noting ??= notes
      .write(takeNote(runner))
      .then((written) => {
        runner.lost ||= !written;
      })
      .catch(() => {
        runner.lost = true;
      })
      .finally(() => {
        runner.noting = undefined;
        if (runner.forwarded >= NOTED_AFTER && !runner.lost) noteBehind(runner);
      });
  }

  /** Failures are those of one message; when it is gone (expired, pruned) its successor starts anew. */
  function forgetOtherFailures(runner: Runner): void {
    const { subscriber, buffer } = runner;
    if (subscriber.failingAt !== null && subscriber.failingAt !== buffer[0]?.position) clearFailures(runner);
  }

  return {
    async next(runner) {
      const { subscriber, destination } = runner;
      const isBatch = subscriber.rel === 'post-batch';
      const wanted = wantedBy(runner);
      if (runner.buffer.length === 0 || (isBatch && runner.buffer.length < wanted)) {
        const max = isBatch ? BATCH_MESSAGES : AHEAD;
        runner.buffer = [...(await window.after(destination.id, subscriber.position, max, isBatch))];
      }
      const [first] = runner.buffer;
      if (first === undefined) {
        if (runner.forwarded > 0) await noteRunner(notes, runner);
        return undefined;
      }
      forgetOtherFailures(runner);
      const full = runner.buffer.length >= wanted;
      if (!full && subscriber.tries === 0 && store.now() < first.posted + BATCH_WAIT) {
        return { wait: first.posted + BATCH_WAIT };
      }
      return withinBytes(runner.buffer, wanted);
    },

    async delivered(runner, messages, link) {
      const { subscriber } = runner;
      runner.buffer.splice(0, messages.length);
      runner.alone = Math.max(0, runner.alone - messages.length);
      const hadFailed = subscriber.tries > 0;
      clearFailures(runner);
      subscriber.position = messages.at(-1)?.position ?? subscriber.position;
      runner.forwarded += messages.length;
      if (subscriber.rel === 'post-message' && !hadFailed) {
        if (runner.lost) throw new Interrupted('the subscriber was changed');
        if (runner.forwarded >= NOTED_AFTER) noteBehind(runner);
        if (runner.forwarded >= MOST_UNNOTED) await runner.noting;
        return;
      }
      subscriber.link = link;
      // Which message comes next is known while the buffer lasts: noted now, it can leave at once.
      subscriber.linkFor = link === null ? null : (runner.buffer[0]?.id ?? null);
      runner.linkTried = false;
      await noteRunner(notes, runner);
    },

    async bury() {
      return false;
    },

    async letGo(runner, last) {
      await runner.noting;
      const taken = takeNote(runner, { disowned: true });
      const { id, state } = runner.subscriber;
      const owner = node.id;
      await store.transaction(async (tx) => {
        const written = await writeNotes(tx, owner, [taken]);
        if (!written.has(id)) throw new Interrupted('the subscriber was changed');
        if (state === REMOVED) await deleteSubscriber(tx, id);
        await last?.(tx);
      });
    },
  };
}
