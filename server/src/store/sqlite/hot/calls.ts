/**
 * Calls to the thread of the hot paths. Those that arrive in one turn of the event loop go over to it together. But when
 * many arrive at once the first of them leave before the last are read, so that both threads always have something to do:
 * otherwise all clients end up in one bundle, and each thread waits while the other has it.
 */
import { once } from 'node:events';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { Problem, type ProblemCode } from '../../../problems.ts';
import type {
  Claim,
  ClaimedMessage,
  ForgetStep,
  Forgotten,
  Posting,
  PostOutcome,
  Settlement,
  SettleOutcome,
} from '../../store.ts';
import { retrySoon } from '../connection.ts';
import type { Opening } from './thread.ts';
import {
  type CallBundle,
  type CallPlace,
  type CarriedFailure,
  CLOSE,
  gatherTexts,
  type HotSetup,
  type OpenedMessage,
  type OutcomeBundle,
  type PlacedPosting,
  packBodies,
  packClaims,
  packPosts,
  packSettlements,
  postOutcomeOf,
  settleOutcomeOf,
  unpackClaimed,
} from './wire.ts';

const MOST_UNDER_WAY = 8;
/** So many calls leave at once. */
const ENOUGH_CALLS = 16;
/** Bounds of one bundle. */
const MOST_CALLS = 256;
const MOST_BYTES = 16 * 1024 * 1024;
/** What may wait for its outcome. Beyond it clients are told to come back (the bodies would fill the memory). */
const MOST_WAITING_BYTES = 64 * 1024 * 1024;

export interface HotCalls {
  /** `bytes`: what the posting weighs in memory. */
  post(posting: Posting, bytes: number): Promise<PostOutcome>;
  claim(claim: Claim): Promise<ClaimedMessage[]>;
  settle(settlement: Settlement): Promise<SettleOutcome>;
  forgetFinished(step: ForgetStep): Promise<Forgotten>;
  hasVolatileRoom(): boolean;
  /** Resolves when no call waits for its outcome, and ends the thread. */
  close(): Promise<void>;
}

interface Call<Question, Outcome> {
  readonly question: Question;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls that travel together. */
interface Bundle {
  readonly posts: Call<PlacedPosting, PostOutcome>[];
  readonly claims: Call<Claim, ClaimedMessage[]>[];
  readonly settlements: Call<Settlement, SettleOutcome>[];
  readonly steps: Call<ForgetStep, Forgotten>[];
  calls: number;
  /** Calls without an outcome, once it is under way. */
  left: number;
  bytes: number;
}

const newBundle = (): Bundle => ({ posts: [], claims: [], settlements: [], steps: [], calls: 0, left: 0, bytes: 0 });

export interface HotCallsOptions {
  readonly setup: HotSetup;
  readonly nextArrival: () => number;
  /** Told what the thread has committed. */
  readonly committed: (jobs: number, bytes: number) => void;
}

/** Resolves when the thread has opened the database. */
export async function openHotCalls({ setup, nextArrival, committed }: HotCallsOptions): Promise<HotCalls> {
  const port = await openPort(setup);
  /** The last of them still takes calls. */
  const waiting: Bundle[] = [];
  const underWay = new Map<number, Bundle>();
  let sent = 0;
  const idle: (() => void)[] = [];
  let waitingBytes = 0;
  let scheduled = false;
  let hasVolatileRoom = true;
  let closed = false;

  function bundleFor(bytes: number): Bundle {
    const last = waiting.at(-1);
    if (last !== undefined && last.calls < MOST_CALLS && (last.calls === 0 || last.bytes + bytes <= MOST_BYTES))
      return last;
    const fresh = newBundle();
    waiting.push(fresh);
    return fresh;
  }

  function call<Question, Outcome>(
    callsOf: (bundle: Bundle) => Call<Question, Outcome>[],
    question: Question,
    bytes: number,
  ): Promise<Outcome> {
    if (closed) return Promise.reject(new Problem('store-unavailable', 'the store is closed', retrySoon));
    if (waitingBytes > 0 && waitingBytes + bytes > MOST_WAITING_BYTES) {
      return Promise.reject(new Problem('busy', 'too much is waiting to be written', retrySoon));
    }
    return new Promise((resolve, reject) => {
      const bundle = bundleFor(bytes);
      callsOf(bundle).push({ question, resolve, reject });
      bundle.calls++;
      bundle.bytes += bytes;
      waitingBytes += bytes;
      if (underWay.size === MOST_UNDER_WAY) return;
      if (bundle.calls >= ENOUGH_CALLS) send();
      else if (!scheduled) {
        scheduled = true;
        setImmediate(sendRest);
      }
    });
  }

  /** What has arrived in this turn of the event loop. */
  function sendRest(): void {
    scheduled = false;
    send();
  }

  function send(): void {
    while (underWay.size < MOST_UNDER_WAY) {
      const bundle = waiting.shift();
      if (bundle === undefined) return;
      if (underWay.size === 0) {
        // A call that waits for its outcome keeps the process alive.
        port.ref();
      }
      underWay.set(++sent, bundle);
      bundle.left = bundle.calls;
      const packed = pack(sent, bundle);
      port.postMessage(packed, [packed.bodies.buffer]);
    }
  }

  const bundleOf = ({ bundle }: CallPlace): Bundle => underWay.get(bundle) as Bundle;

  /** One call of a bundle has its outcome. */
  function done({ bundle }: CallPlace): void {
    const found = underWay.get(bundle) as Bundle;
    found.left--;
    if (found.left > 0) return;
    underWay.delete(bundle);
    waitingBytes -= found.bytes;
  }

  function receive(outcomes: OutcomeBundle): void {
    hasVolatileRoom = outcomes.hasVolatileRoom;
    committed(outcomes.written.jobs, outcomes.written.bytes);
    for (const [call, outcome] of numbered(outcomes.settlements)) {
      bundleOf(call).settlements[call.index]?.resolve(settleOutcomeOf(outcome));
      done(call);
    }
    for (const [call, outcome] of numbered(outcomes.posts)) {
      bundleOf(call).posts[call.index]?.resolve(postOutcomeOf(outcome));
      done(call);
    }
    const claimOf = (call: CallPlace): Claim => (bundleOf(call).claims[call.index] as Call<Claim, unknown>).question;
    for (const { call, messages } of unpackClaimed(outcomes, claimOf)) {
      bundleOf(call).claims[call.index]?.resolve(messages);
      done(call);
    }
    for (const { call, forgotten } of outcomes.steps) {
      bundleOf(call).steps[call.index]?.resolve(forgotten);
      done(call);
    }
    for (const failure of outcomes.failures) {
      bundleOf(failure.call)[failure.kind][failure.call.index]?.reject(revive(failure));
      done(failure.call);
    }
    if (waiting.length > 0) send();
    if (underWay.size > 0) return;
    port.unref();
    for (const resolve of idle.splice(0)) resolve();
  }

  port.on('message', receive);
  port.unref();

  return {
    post(posting, bytes) {
      // Now and not when it leaves: should no number be left, this caller alone is told.
      const arrivals = posting.kind === 'topic' ? [] : posting.messages.map(nextArrival);
      return call(({ posts }) => posts, { posting, arrivals }, bytes);
    },
    claim: (claim) => call(({ claims }) => claims, claim, 0),
    settle: (settlement) => call(({ settlements }) => settlements, settlement, 0),
    forgetFinished: (step) => call(({ steps }) => steps, step, 0),
    hasVolatileRoom: () => hasVolatileRoom,
    async close() {
      closed = true;
      if (underWay.size > 0 || waiting.length > 0) await new Promise<void>((resolve) => idle.push(resolve));
      port.ref();
      const ended = once(port, 'close');
      port.postMessage(CLOSE);
      await ended;
    },
  };
}

let thread: Worker | undefined;

/** A line to the thread of the hot paths, which is started for the first store and serves all of this process. */
async function openPort(setup: HotSetup): Promise<MessagePort> {
  if (thread === undefined) {
    // Nothing listens to its errors: they end the process, since nobody could be answered any more.
    thread = new Worker(new URL('./thread.ts', import.meta.url), { name: 'hot paths' });
    thread.unref();
  }
  const { port1, port2 } = new MessageChannel();
  const opening: Opening = { setup, port: port2 };
  thread.postMessage(opening, [port2]);
  const [{ opened, message, errcode }] = (await once(port1, 'message')) as [OpenedMessage];
  if (opened) return port1;
  port1.close();
  throw Object.assign(new Error(message), errcode !== undefined && { errcode });
}

/** Outcomes that are numbers: each with the place of its call. */
function* numbered(values: readonly number[]): Iterable<[CallPlace, number]> {
  for (let at = 0; at < values.length; at += 3) {
    const [bundle, index, outcome] = values.slice(at, at + 3) as [number, number, number];
    yield [{ bundle, index }, outcome];
  }
}

function pack(
  number: number,
  { posts, claims, settlements, steps }: Bundle,
): CallBundle & { bodies: Uint8Array<ArrayBuffer> } {
  const bodies: Uint8Array[] = [];
  for (const { question } of posts) for (const { body } of question.posting.messages) bodies.push(body);
  const texts = gatherTexts();
  return {
    number,
    posts: packPosts(
      posts.map(({ question }) => question),
      texts,
    ),
    claims: packClaims(claims.map(({ question }) => question)),
    settlements: packSettlements(settlements.map(({ question }) => question)),
    steps: steps.map(({ question }) => question),
    texts: texts.all,
    bodies: packBodies(bodies),
  };
}

function revive({ code, message, stack }: CarriedFailure): Error {
  const cause = Object.assign(new Error(message), { stack });
  return code === undefined ? cause : new Problem(code as ProblemCode, message, retrySoon, cause);
}
