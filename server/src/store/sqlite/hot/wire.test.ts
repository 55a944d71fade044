import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { fc } from '../../../../../testing/properties.ts';
import { Problem } from '../../../problems.ts';
import type {
  Claim,
  ClaimedMessage,
  ForgetStep,
  Posting,
  PostOutcome,
  Settlement,
  SettleOutcome,
} from '../../store.ts';
import { createLineReader, createLineWriter } from './line.ts';
import { createOutcomeWriter, errorOf, forgottenOf, postOutcomeOf, reportOf, settleOutcomeOf } from './outcomes.ts';
import { LARGE_BODY, type RecordReader } from './record.ts';
import { createRingMemory } from './ring.ts';
import {
  CLAIM_WORDS,
  packClaim,
  packPosting,
  packSettlement,
  packStep,
  postingWords,
  SETTLEMENT_WORDS,
  STEP_WORDS,
  unpackClaim,
  unpackClaimed,
  unpackPosting,
  unpackSettlement,
  unpackStep,
} from './wire.ts';

/** Objects as the service makes them. */
const record = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(fields, { noNullPrototype: true }) as fc.Arbitrary<T>;
const number = fc.maxSafeNat();
const numberOrNull = fc.option(number);
const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme', minLength: 190, maxLength: 300 }));
const textOrNull = fc.option(text);
const body = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(LARGE_BODY - 1, LARGE_BODY, LARGE_BODY + 1).map((size) => Buffer.alloc(size, 7)),
);

const posting: fc.Arbitrary<Posting> = record({
  destination: number,
  kind: fc.constantFrom('queue' as const, 'topic' as const),
  posted: number,
  messages: fc.array(
    record({
      id: number,
      contentType: textOrNull,
      headers: text,
      body,
      rank: fc.nat(9),
      expires: numberOrNull,
      delayedUntil: numberOrNull,
    }),
    { maxLength: 4 },
  ),
  use: fc.option(record({ chain: number, n: number, expires: number })),
}).map(({ use, ...rest }) => ({ ...rest, ...(use !== null && { once: use }) }));

const claim: fc.Arbitrary<Claim> = record({
  destination: number,
  max: number,
  maxBytes: number,
  mode: fc.constantFrom('consume' as const, 'lease' as const),
  due: number,
  token: number,
  now: number,
});

const settlement: fc.Arbitrary<Settlement> = record({
  id: number,
  token: number,
  verdict: fc.constantFrom('acknowledge' as const, 'return' as const, 'extend' as const),
  due: numberOrNull,
  maxDeliveries: number,
  now: number,
});

const step: fc.Arbitrary<ForgetStep> = record({ after: number, now: number, kept: number, rememberIds: number });

function openLine(handsOver: boolean) {
  const memory = createRingMemory(1024 * 1024);
  const { port1, port2 } = new MessageChannel();
  const writer = createLineWriter(memory, port1, handsOver);
  const reader = createLineReader(memory, port2);
  /** The next record. */
  const next = (): RecordReader => {
    writer.publish();
    return reader.next() as RecordReader;
  };
  return { writer, reader, next, close: () => port1.close() };
}

test('posts arrive as they were sent, each message to a queue with its place in the order', () => {
  fc.assert(
    fc.property(fc.array(posting, { maxLength: 5 }), (postings) => {
      const { writer, reader, next, close } = openLine(false);
      for (const each of postings) {
        const arrivals = each.kind === 'topic' ? [] : each.messages.map((_, index) => 100 + index);
        assert.ok(writer.write(postingWords({ posting: each, arrivals }), packPosting, { posting: each, arrivals }));
        const messages = each.messages.map((message, index) => ({
          ...message,
          body: new Uint8Array(message.body),
          arrival: arrivals[index] ?? 0,
        }));
        assert.deepEqual(unpackPosting(next()), { ...each, messages });
        reader.release();
      }
      close();
    }),
  );
});

test('claims, verdicts, steps and plain outcomes arrive as they were sent', () => {
  const postOutcome = fc.constantFrom<PostOutcome[]>('stored', 'no-destination', 'once-used');
  const settleOutcome = fc.constantFrom<SettleOutcome[]>('done', 'dead', 'overtaken', 'acknowledged', 'gone');
  const forgotten = record({ last: number, more: fc.boolean(), full: fc.boolean() });
  fc.assert(
    fc.property(
      fc.tuple(claim, settlement, step, postOutcome, settleOutcome, forgotten),
      ([claimed, verdict, forget, posted, settled, over]) => {
        const { writer, next, close } = openLine(true);
        writer.write(CLAIM_WORDS, packClaim, claimed);
        assert.deepEqual(unpackClaim(next()), claimed);
        writer.write(SETTLEMENT_WORDS, packSettlement, verdict);
        assert.deepEqual(unpackSettlement(next()), verdict);
        writer.write(STEP_WORDS, packStep, forget);
        assert.deepEqual(unpackStep(next()), forget);
        const outcomes = createOutcomeWriter(writer);
        outcomes.posted(1, posted);
        assert.equal(postOutcomeOf(bodyOf(next())), posted);
        outcomes.settled(2, settled);
        assert.equal(settleOutcomeOf(bodyOf(next())), settled);
        outcomes.forgot(3, over);
        assert.deepEqual(forgottenOf(bodyOf(next())), over);
        outcomes.report({ jobs: 4, bytes: 5, hasVolatileRoom: over.full });
        assert.deepEqual(reportOf(bodyOf(next())), { jobs: 4, bytes: 5, hasVolatileRoom: over.full });
        close();
      },
    ),
  );
});

test('what was claimed comes back with what the claim said itself, large bodies without a copy', () => {
  const message = record({
    id: number,
    posted: number,
    contentType: textOrNull,
    headers: text,
    name: textOrNull,
    deliveries: fc.nat(),
    body,
  });
  const answered = fc.tuple(claim, fc.array(message, { maxLength: 3 }));
  fc.assert(
    fc.property(fc.array(answered, { maxLength: 5 }), (calls) => {
      const { writer, reader, next, close } = openLine(true);
      const outcomes = createOutcomeWriter(writer);
      for (const [asked, messages] of calls) {
        // Large ones change hands, so that each has to be memory of its own.
        outcomes.claimed(
          7,
          messages.map((each) => ({ ...each, body: new Uint8Array(each.body) })),
        );
        const { destination, token } = asked;
        const got = unpackClaimed(bodyOf(next()), asked);
        reader.release();
        assert.deepEqual(
          got,
          messages.map((each): ClaimedMessage => ({ ...each, destination, token, position: null })),
        );
      }
      close();
    }),
  );
});

test('what is kept of a claim is not changed by what comes later', () => {
  const { writer, reader, next, close } = openLine(true);
  const outcomes = createOutcomeWriter(writer);
  const kept: Buffer[] = [];
  for (let value = 0; value < 100; value++) {
    const body = new Uint8Array(30_000).fill(value);
    outcomes.claimed(1, [{ id: 2, posted: 3, contentType: null, headers: '[]', name: null, deliveries: 1, body }]);
    const [got] = unpackClaimed(bodyOf(next()), { destination: 1, token: 2 });
    reader.release();
    kept.push((got as ClaimedMessage).body);
  }
  for (const [value, body] of kept.entries()) assert.ok(body.every((byte) => byte === value));
  close();
});

test('errors arrive with what a client is told', () => {
  const { writer, next, close } = openLine(true);
  const outcomes = createOutcomeWriter(writer);
  outcomes.failed(1, new Problem('storage-full', 'there is no room'));
  const problem = errorOf(bodyOf(next()));
  assert.ok(problem instanceof Problem);
  assert.deepEqual([problem.code, problem.message], ['storage-full', 'there is no room']);
  outcomes.failed(2, new TypeError('x'.repeat(100_000)));
  const other = errorOf(bodyOf(next()));
  assert.ok(!(other instanceof Problem));
  assert.equal(other.message.length, 100_000);
  close();
});

test('large records count until they are released', () => {
  const { writer, reader, next, close } = openLine(true);
  const outcomes = createOutcomeWriter(writer);
  const large = () => ({
    id: 2,
    posted: 3,
    contentType: null,
    headers: '[]',
    name: null,
    deliveries: 1,
    body: new Uint8Array(1e6),
  });
  outcomes.claimed(1, [large()]);
  outcomes.claimed(2, [large(), large()]);
  assert.ok(writer.largeBytesUnderWay() >= 3e6);
  next();
  assert.ok(writer.largeBytesUnderWay() >= 3e6);
  assert.equal(reader.release(), true);
  const left = writer.largeBytesUnderWay();
  assert.ok(left >= 2e6 && left < 3e6);
  next();
  reader.release();
  assert.equal(writer.largeBytesUnderWay(), 0);
  outcomes.posted(3, 'stored');
  next();
  assert.equal(reader.release(), false);
  close();
});

/** Behind the kind of a record and the number of its call. */
function bodyOf(from: RecordReader): RecordReader {
  from.number();
  from.number();
  return from;
}
