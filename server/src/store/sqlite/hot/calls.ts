/**
 * Calls to the thread of the hot paths. They are written into shared memory as they come and shown to the other thread
 * at the end of the turn of the event loop. But when many arrive at once the first of them are shown before the last are
 * read, so that both threads always have something to do.
 */
import { Problem } from '../../../problems.ts';
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
import {
  type Asked,
  type Call,
  type CallKind,
  callWords,
  claims,
  closing,
  packCall,
  posts,
  settlements,
  steps,
} from './call-kinds.ts';
import { openOnHotThread } from './hot-thread.ts';
import { createLineReader, createLineWriter } from './line.ts';
import { errorOf, reportOf } from './outcomes.ts';
import type { RecordReader } from './record.ts';
import { CLOSE, FAILURE, type HotSetup, REPORT } from './wire.ts';

/** So many calls are shown at once. */
const ENOUGH_CALLS = 32;
/** What may wait for its outcome. Beyond it clients are told to come back (the bodies would fill the memory). */
const MOST_WAITING_BYTES = 64 * 1024 * 1024;

export interface HotCalls {
  /** `bytes`: what the posting weighs in memory. */
  post(posting: Posting, bytes: number): Promise<PostOutcome>;
  claim(claim: Claim): Promise<ClaimedMessage[]>;
  settle(settlement: Settlement): Promise<SettleOutcome>;
  forgetFinished(step: ForgetStep): Promise<Forgotten>;
  hasVolatileRoom(): boolean;
  /** Resolves when no call waits for its outcome, and closes the database on the other thread. */
  close(): Promise<void>;
}

/** Somebody who waits for an outcome. */
interface Waiting {
  readonly asked: Asked;
  readonly bytes: number;
  readonly unpack: (from: RecordReader, asked: Asked) => unknown;
  readonly resolve: (outcome: never) => void;
  readonly reject: (error: unknown) => void;
}

export interface HotCallsOptions {
  readonly setup: HotSetup;
  readonly nextArrival: () => number;
  /** Told what the thread has committed. */
  readonly committed: (jobs: number, bytes: number) => void;
}

/** Resolves when the thread has opened the database. */
export async function openHotCalls({ setup, nextArrival, committed }: HotCallsOptions): Promise<HotCalls> {
  const store = await openOnHotThread(setup);
  const line = createLineWriter(store.calls, store.mail, false);
  const outcomes = createLineReader(store.outcomes, store.mail);
  /** By the numbers of their calls. Those of calls that are done are used again. */
  const waiting: (Waiting | undefined)[] = [];
  const freeNumbers: number[] = [];
  let waitingCalls = 0;
  let waitingBytes = 0;
  /** Calls for which the line had no room yet. */
  const unwritten: Call<never>[] = [];
  let unpublished = 0;
  let scheduled = false;
  let hasVolatileRoom = true;
  let closed = false;
  /** The other thread has closed the database. */
  let ended = false;
  const idle: (() => void)[] = [];

  function call<Question, Outcome>(
    kind: CallKind<Question, Outcome>,
    question: Question,
    bytes: number,
    asked?: Asked,
  ): Promise<Outcome> {
    if (closed) return Promise.reject(new Problem('store-unavailable', 'the store is closed', retrySoon));
    if (waitingBytes > 0 && waitingBytes + bytes > MOST_WAITING_BYTES) {
      return Promise.reject(new Problem('busy', 'too much is waiting to be written', retrySoon));
    }
    return send(kind, question, bytes, asked);
  }

  function send<Question, Outcome>(
    kind: CallKind<Question, Outcome>,
    question: Question,
    bytes: number,
    asked?: Asked,
  ): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const number = freeNumbers.pop() ?? waiting.length;
      const written: Call<Question> = { number, kind, question };
      // Before anybody waits for it: should writing fail, for want of memory for example, the caller alone is told.
      const isWritten = unwritten.length === 0 && write(written);
      waiting[number] = { asked, bytes, unpack: kind.unpack, resolve, reject };
      waitingBytes += bytes;
      if (waitingCalls++ === 0) store.keepAlive(true);
      if (isWritten) publishSoon();
      else unwritten.push(written as unknown as Call<never>);
    });
  }

  const write = <Question>(written: Call<Question>): boolean => line.write(callWords(written), packCall, written);

  function publishSoon(): void {
    if (++unpublished >= ENOUGH_CALLS) publish();
    else if (!scheduled) {
      scheduled = true;
      setImmediate(publishRest);
    }
  }

  function publishRest(): void {
    scheduled = false;
    publish();
  }

  function publish(): void {
    unpublished = 0;
    if (line.publish()) store.ring();
  }

  /** As many as there is room for. */
  function writeRest(): void {
    let count = 0;
    while (count < unwritten.length && write(unwritten[count] as Call<never>)) count++;
    unwritten.splice(0, count);
    publish();
  }

  function done(number: number): Waiting {
    const found = waiting[number] as Waiting;
    waiting[number] = undefined;
    freeNumbers.push(number);
    waitingBytes -= found.bytes;
    waitingCalls--;
    return found;
  }

  function take(from: RecordReader): void {
    const kind = from.number();
    const number = from.number();
    if (kind === REPORT) {
      const report = reportOf(from);
      hasVolatileRoom = report.hasVolatileRoom;
      committed(report.jobs, report.bytes);
      return;
    }
    if (kind === CLOSE) ended = true;
    const { asked, unpack, resolve, reject } = done(number);
    if (kind === FAILURE) reject(errorOf(from));
    else resolve(unpack(from, asked) as never);
  }

  function receive(): void {
    for (let from = outcomes.next(); from !== undefined; from = outcomes.next()) take(from);
    // The other thread may have put off claims until large messages were taken.
    if (outcomes.release()) store.ring();
    if (unwritten.length > 0) writeRest();
    if (waitingCalls > 0) return;
    for (const resolve of idle.splice(0)) resolve();
  }

  function listen(): void {
    const waited = waitingCalls > 0;
    receive();
    if (waited && waitingCalls === 0) store.keepAlive(false);
    if (ended) return;
    const somethingNew = outcomes.waitForNew();
    if (somethingNew === undefined) setImmediate(listen);
    else somethingNew.then(listen);
  }

  listen();

  return {
    post(posting, bytes) {
      // Now and not when it is written: should no number be left, this caller alone is told.
      const arrivals = posting.kind === 'topic' ? [] : posting.messages.map(nextArrival);
      return call(posts, { posting, arrivals }, bytes);
    },
    claim: (claim) => call(claims, claim, 0, { destination: claim.destination, token: claim.token }),
    settle: (settlement) => call(settlements, settlement, 0),
    forgetFinished: (step) => call(steps, step, 0),
    hasVolatileRoom: () => hasVolatileRoom,
    async close() {
      closed = true;
      if (waitingCalls > 0) await new Promise<void>((resolve) => idle.push(resolve));
      await send(closing, undefined, 0);
      store.mail.close();
    },
  };
}
