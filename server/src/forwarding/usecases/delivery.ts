/**
 * Takes messages to a target, in the way its relation asks for (A20). With post-message-once:
 *
 *   1 POST href, empty         -> a create-next link
 *   2 note link and message    (durable, before the message leaves)
 *   3 POST link, the message   -> 200 and the link for the next message; 405: it has it already
 *
 * Whoever comes after a crash finds the note, repeats step 3 and is told by 405 when that had succeeded.
 */
import { randomUUID } from 'node:crypto';
import { type Outbound, OutboundError } from '../../http/outbound/outbound.ts';
import type { Destination } from '../../messaging/destination.ts';
import type { StoredMessage } from '../../store/store.ts';
import { type Attempt, shortened } from '../attempts.ts';
import { type Outcome, outcomeOf, outcomeOfError, type Step } from '../outcome.ts';
import { signatureFields } from '../signature.ts';
import type { Gate } from './gate.ts';
import { Interrupted, type Runner, recordAttempt } from './runner.ts';

/** A message, or several as one, ready to be sent. */
export interface Parcel {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** The same at every try. */
  readonly id: string;
  /** The path of the first message. */
  readonly path: string;
}

export interface DeliveryParts {
  readonly outbound: Outbound;
  readonly gate: Gate;
  readonly now: () => number;
  readonly message: (message: StoredMessage, destination: Destination) => Parcel;
  readonly batch: (messages: readonly StoredMessage[], destination: Destination) => Parcel;
  /** The URL of a path of this service, and the path of such a URL. */
  readonly urlOf: (hrefOrPath: string) => string;
  readonly pathOf: (url: string) => string | undefined;
  /** Fields of every request. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Throws `Interrupted` when this node may not call on behalf of the runner now. */
  readonly mayCall: (runner: Runner) => void;
  readonly signal: () => AbortSignal;
  /** Notes durably where the message goes before it goes; throws when it cannot. */
  readonly noteLink: (runner: Runner, link: string, message: number) => Promise<void>;
}

export type DeliveryOutcome = Exclude<Outcome, { kind: 'link' | 'renew' }>;

/** How often in a row a target may say that its newest link is over. */
const MOST_RENEWALS = 3;
const NOTHING: Parcel = { headers: [], body: Buffer.alloc(0), id: '', path: '' };

export function createDelivery(parts: DeliveryParts) {
  const { outbound, gate, now } = parts;

  async function call(
    runner: Runner,
    { step, url, parcel, count = 1 }: { step: Step; url: string; parcel: Parcel; count?: number },
  ): Promise<Outcome> {
    parts.mayCall(runner);
    const leave = await gate.enter(new URL(url).host, parcel.body.length, runner.subscriber.tries > 0);
    try {
      parts.mayCall(runner);
      return await exchange(runner, step, url, parcel, count);
    } finally {
      leave();
    }
  }

  async function exchange(runner: Runner, step: Step, url: string, parcel: Parcel, count: number): Promise<Outcome> {
    const at = now();
    const started = performance.now();
    let status: number | undefined;
    let outcome: Outcome;
    try {
      const headers = [...parcel.headers, ...parts.fields, ...signed(runner, url, parcel, at)];
      const request = { method: 'POST', url, headers, body: parcel.body, mayCut: true, signal: parts.signal() };
      const answer = await outbound.send(request);
      status = answer.status;
      outcome = outcomeOf(answer, { step, url, tried: runner.linkTried, now: at });
      if (step === 'link') runner.linkTried = true;
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      if (error.kind === 'aborted' || error.kind === 'closed') throw new Interrupted(error.message);
      outcome = outcomeOfError(error);
      if (step === 'link') afterSilence(runner, error);
    }
    const isGood = outcome.kind === 'delivered' || outcome.kind === 'link';
    const attempt: Attempt = {
      at,
      milliseconds: Math.round(performance.now() - started),
      ...(status === undefined ? {} : { status }),
      ...(isGood ? {} : { error: shortened((outcome as { error: string }).error) }),
      ...(step === 'ask' ? {} : { message: parcel.path }),
      ...(count > 1 ? { messages: count } : {}),
    };
    recordAttempt(runner, attempt);
    return outcome;
  }

  /** A link that certainly was never reached need not be kept: the target may have a better one by now. */
  function afterSilence(runner: Runner, { sent }: OutboundError): void {
    if (sent) runner.linkTried = true;
    else if (!runner.linkTried) {
      runner.subscriber.link = null;
      runner.subscriber.linkFor = null;
    }
  }

  function signed(runner: Runner, url: string, { body, id }: Parcel, at: number): [string, string][] {
    const { secret, href } = runner.subscriber;
    // A create-next may lead to another origin, which does not share the secret.
    if (secret === null || new URL(url).origin !== new URL(parts.urlOf(href)).origin) return [];
    return signatureFields(secret, id === '' ? randomUUID() : id, Math.floor(at / 1000), body);
  }

  async function once(runner: Runner, message: StoredMessage): Promise<DeliveryOutcome> {
    const parcel = parts.message(message, runner.destination);
    const { subscriber } = runner;
    for (let renewals = 0; ; renewals++) {
      // What became of the message it was noted for is not known, so it cannot serve another one.
      if (subscriber.linkFor !== null && subscriber.linkFor !== message.id) subscriber.link = null;
      let { link } = subscriber;
      if (link === null) {
        const asked = await call(runner, { step: 'ask', url: parts.urlOf(subscriber.href), parcel: NOTHING });
        if (asked.kind !== 'link') return asked as DeliveryOutcome;
        link = parts.pathOf(asked.next) ?? asked.next;
      }
      if (subscriber.link !== link || subscriber.linkFor !== message.id) {
        runner.linkTried = false;
        await parts.noteLink(runner, link, message.id);
      }
      const outcome = await call(runner, { step: 'link', url: parts.urlOf(link), parcel });
      if (outcome.kind !== 'renew') return outcome as DeliveryOutcome;
      subscriber.link = outcome.next === null ? null : (parts.pathOf(outcome.next) ?? outcome.next);
      subscriber.linkFor = null;
      if (renewals === MOST_RENEWALS) return { kind: 'retry', error: outcome.error };
    }
  }

  return async (runner: Runner, messages: readonly StoredMessage[]): Promise<DeliveryOutcome> => {
    const { rel, href } = runner.subscriber;
    const [first] = messages;
    if (first === undefined) throw new Error('there is nothing to deliver');
    if (rel === 'post-message-once') return once(runner, first);
    const isBatch = rel === 'post-batch';
    const parcel = isBatch ? parts.batch(messages, runner.destination) : parts.message(first, runner.destination);
    const count = isBatch ? messages.length : 1;
    const outcome = await call(runner, { step: 'message', url: parts.urlOf(href), parcel, count });
    return outcome as DeliveryOutcome;
  };
}

export type Deliver = ReturnType<typeof createDelivery>;
