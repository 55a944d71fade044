/**
 * One subscriber's way from message to message. Each step sends what comes next and notes what became of it:
 *
 *   delivered           -> active; the next message
 *   no answer, 5xx, …   -> retrying; again after a pause, for days
 *   refused, too long   -> queue: the message is dead, the next one; topic: disabled at that message
 *   410 at the href     -> disabled
 */
import type { Operator } from '../../operator/operator.ts';
import type { Store, StoredMessage, Tx } from '../../store/store.ts';
import type { NoticeMaker } from '../notice-maker.ts';
import { nextTryAt } from '../retry.ts';
import { DISABLED, RETRYING } from '../subscriber.ts';
import type { Deliver, DeliveryOutcome } from './delivery.ts';
import { type Notes, noteRunner } from './notes.ts';
import type { Runner } from './runner.ts';
import type { Source } from './source.ts';

export interface PipelineParts {
  readonly store: Store;
  readonly notes: Notes;
  readonly deliver: Deliver;
  readonly sources: Readonly<Record<'queue' | 'topic', Source>>;
  readonly operator: Operator;
  readonly notices: NoticeMaker;
  /** Milliseconds for which a message is tried. */
  readonly patience: number;
}

/** `again`: there may be more to do at once. `idle`: until it is woken. `over`: the runner has let go of it. */
export type StepOutcome = 'again' | 'idle' | 'over';

export function createPipeline(parts: PipelineParts) {
  const { store, notes, deliver, sources, operator, notices, patience } = parts;
  const sourceOf = ({ subscriber }: Runner): Source => sources[subscriber.kind];

  /** With a notice to the operator, in the same commit as what it tells of. */
  async function noticing(
    runner: Runner,
    kind: keyof NoticeMaker,
    reason: string,
    act: (last: (tx: Tx) => Promise<void>) => Promise<boolean>,
  ): Promise<boolean> {
    const { raise, announce } = await operator.raiser();
    const notice = notices[kind](runner.subscriber, runner.destination, reason);
    const done = await act((tx) => raise(tx, notice));
    if (done) announce();
    return done;
  }

  async function disable(runner: Runner, reason: string): Promise<StepOutcome> {
    runner.subscriber.state = DISABLED;
    runner.subscriber.reason = reason;
    runner.subscriber.nextTry = null;
    await noticing(runner, 'disabled', reason, async (last) => {
      await sourceOf(runner).letGo(runner, last);
      return true;
    });
    return 'over';
  }

  async function giveUp(runner: Runner, messages: readonly StoredMessage[], reason: string): Promise<StepOutcome> {
    const buried = await noticing(runner, 'deadLetter', reason, (last) =>
      sourceOf(runner).bury(runner, messages, reason, last),
    );
    if (buried) return 'again';
    runner.subscriber.failingAt = messages[0]?.position ?? null;
    return disable(runner, reason);
  }

  async function retry(
    runner: Runner,
    messages: readonly StoredMessage[],
    { error, after }: { readonly error: string; readonly after?: number | undefined },
  ): Promise<StepOutcome> {
    const { subscriber } = runner;
    const now = store.now();
    subscriber.tries += 1;
    subscriber.failingSince ??= now;
    subscriber.failingAt = messages[0]?.position ?? null;
    const failing = { tries: subscriber.tries, since: subscriber.failingSince };
    const nextTry = nextTryAt(failing, after, now, patience);
    if (nextTry === undefined) {
      return giveUp(runner, messages, `not delivered in ${subscriber.tries} tries; the last: ${error}`);
    }
    subscriber.state = RETRYING;
    subscriber.nextTry = nextTry;
    // A target that fails keeps no messages in memory.
    runner.buffer = [];
    await noteRunner(notes, runner);
    runner.wakeAt = nextTry;
    return 'idle';
  }

  async function refused(runner: Runner, messages: readonly StoredMessage[], error: string): Promise<StepOutcome> {
    // One bad message must not take the others of its batch along.
    if (messages.length > 1) {
      runner.alone = messages.length;
      return 'again';
    }
    // The target has said no to the message, or to the link: another try starts from the beginning.
    runner.subscriber.link = null;
    runner.subscriber.linkFor = null;
    return giveUp(runner, messages, error);
  }

  async function settle(
    runner: Runner,
    messages: readonly StoredMessage[],
    outcome: DeliveryOutcome,
    pathOf: (url: string) => string | undefined,
  ): Promise<StepOutcome> {
    switch (outcome.kind) {
      case 'delivered': {
        const { next } = outcome;
        await sourceOf(runner).delivered(runner, messages, next === null ? null : (pathOf(next) ?? next));
        return 'again';
      }
      case 'retry':
        return retry(runner, messages, outcome);
      case 'refuse':
        return refused(runner, messages, outcome.error);
      case 'gone':
        return disable(runner, `${outcome.error}: it wants no more messages`);
    }
  }

  return {
    /** Sends what comes next, if anything does. */
    async step(runner: Runner, pathOf: (url: string) => string | undefined): Promise<StepOutcome> {
      const { subscriber } = runner;
      if (subscriber.nextTry !== null && subscriber.nextTry > store.now()) {
        runner.wakeAt = subscriber.nextTry;
        return 'idle';
      }
      runner.wakeAt = undefined;
      const next = await sourceOf(runner).next(runner);
      if (next === undefined) return 'idle';
      if ('wait' in next) {
        runner.wakeAt = next.wait;
        return 'idle';
      }
      return settle(runner, next, await deliver(runner, next), pathOf);
    },

    /** Makes durable where the runner stands. */
    note: (runner: Runner): Promise<void> => noteRunner(notes, runner),

    letGo: (runner: Runner): Promise<void> => sourceOf(runner).letGo(runner),
  };
}

export type Pipeline = ReturnType<typeof createPipeline>;
