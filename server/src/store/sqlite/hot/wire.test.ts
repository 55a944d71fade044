import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import fc from 'fast-check';
import type { Claim, ClaimedMessage, Posting, PostOutcome, Settlement, SettleOutcome } from '../../store.ts';
import {
  gatherTexts,
  LARGE_BODY,
  packBodies,
  packClaimed,
  packClaims,
  packPosts,
  packSettlements,
  postOutcomeNumber,
  postOutcomeOf,
  settleOutcomeNumber,
  settleOutcomeOf,
  unpackClaimed,
  unpackClaims,
  unpackPosts,
  unpackSettlements,
} from './wire.ts';

/** Objects as the service makes them. */
const record = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(fields, { noNullPrototype: true }) as fc.Arbitrary<T>;
const number = fc.maxSafeNat();
const numberOrNull = fc.option(number);
const text = fc.string({ unit: 'grapheme' });
const textOrNull = fc.option(text);
const body = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));

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

/** As another thread gets it. */
function carried<T>(values: T, transfer: ArrayBuffer[] = []): T {
  const { port1, port2 } = new MessageChannel();
  port1.postMessage(values, transfer);
  const received = receiveMessageOnPort(port2) as { message: T };
  port1.close();
  return received.message;
}

test('posts arrive as they were sent, each message to a queue with its place in the order', () => {
  fc.assert(
    fc.property(fc.array(posting, { maxLength: 5 }), (postings) => {
      const packed = packBodies(postings.flatMap(({ messages }) => messages.map((message) => message.body)));
      const texts = gatherTexts();
      let arrival = 100;
      const placed = postings.map((posting) => ({
        posting,
        arrivals: posting.kind === 'topic' ? [] : posting.messages.map(() => ++arrival),
      }));
      const posts = packPosts(placed, texts);
      const sent = carried({ posts, texts: texts.all, bodies: packed }, [packed.buffer]);
      let expected = 100;
      assert.deepEqual(
        unpackPosts(sent.posts, sent.texts, sent.bodies),
        postings.map((each) => ({
          ...each,
          messages: each.messages.map((message) => ({ ...message, arrival: each.kind === 'topic' ? 0 : ++expected })),
        })),
      );
    }),
  );
});

test('claims, verdicts and outcomes arrive as they were sent', () => {
  const postOutcome = fc.constantFrom<PostOutcome[]>('stored', 'no-destination', 'once-used');
  const settleOutcome = fc.constantFrom<SettleOutcome[]>('done', 'dead', 'overtaken', 'gone');
  fc.assert(
    fc.property(
      fc.array(claim),
      fc.array(settlement),
      fc.array(postOutcome),
      fc.array(settleOutcome),
      (claims, settlements, posts, settled) => {
        assert.deepEqual(unpackClaims(carried(packClaims(claims))), claims);
        assert.deepEqual(unpackSettlements(carried(packSettlements(settlements))), settlements);
        assert.deepEqual(posts.map(postOutcomeNumber).map(postOutcomeOf), posts);
        assert.deepEqual(settled.map(settleOutcomeNumber).map(settleOutcomeOf), settled);
      },
    ),
  );
});

test('what was claimed comes back with what the claim said itself, large bodies by themselves', () => {
  const message = record({
    id: number,
    posted: number,
    contentType: textOrNull,
    headers: text,
    name: textOrNull,
    deliveries: fc.nat(),
    body: fc.oneof(
      body,
      fc.constantFrom(LARGE_BODY - 1, LARGE_BODY, LARGE_BODY + 1).map((size) => Buffer.alloc(size, 7)),
    ),
  });
  const answered = fc.tuple(claim, fc.nat(), fc.array(message, { maxLength: 3 }));
  fc.assert(
    fc.property(fc.array(answered, { maxLength: 5 }), (calls) => {
      const claimed = calls.map(([{ destination, token }, bundle, messages], index) => ({
        call: { bundle, index },
        messages: messages.map((each): ClaimedMessage => ({ ...each, destination, token, position: null })),
      }));
      const texts = gatherTexts();
      const all = claimed.flatMap(({ messages }) => messages.map((each) => each.body));
      const bodies = packBodies(all.filter(({ length }) => length < LARGE_BODY));
      const largeBodies = all.filter(({ length }) => length >= LARGE_BODY);
      const sent = carried({ claims: packClaimed(claimed, texts), texts: texts.all, bodies, largeBodies }, [
        bodies.buffer,
      ]);
      assert.deepEqual(
        unpackClaimed(sent, ({ index }) => (calls[index] as (typeof calls)[number])[0]),
        claimed,
      );
    }),
  );
});
