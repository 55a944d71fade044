import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import fc from 'fast-check';
import type { Claim, ClaimedMessage, Posting, PostOutcome, Settlement, SettleOutcome } from '../../store.ts';
import {
  gatherTexts,
  packBodies,
  packClaimed,
  packClaims,
  packPostOutcome,
  packPosts,
  packSettlements,
  packSettleOutcome,
  unpackClaimed,
  unpackClaims,
  unpackPostOutcome,
  unpackPosts,
  unpackSettlements,
  unpackSettleOutcome,
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
        assert.deepEqual(posts.map(packPostOutcome).map(unpackPostOutcome), posts);
        assert.deepEqual(settled.map(packSettleOutcome).map(unpackSettleOutcome), settled);
      },
    ),
  );
});

test('what was claimed comes back with what the claim said itself; a claim that failed has nothing', () => {
  const message = record({
    id: number,
    posted: number,
    contentType: textOrNull,
    headers: text,
    name: textOrNull,
    deliveries: fc.nat(),
    body,
  });
  const answered = fc.tuple(claim, fc.option(fc.array(message, { maxLength: 3 })));
  fc.assert(
    fc.property(fc.array(answered, { maxLength: 5 }), (calls) => {
      const claims = calls.map(([each]) => each);
      const outcomes = calls.map(([{ destination, token }, messages]) =>
        messages?.map((each): ClaimedMessage => ({ ...each, destination, token, position: null })),
      );
      const packed = packBodies(outcomes.flatMap((each) => each?.map(({ body }) => body) ?? []));
      const texts = gatherTexts();
      const values = packClaimed(outcomes, texts);
      const sent = carried({ values, texts: texts.all, bodies: packed }, [packed.buffer]);
      assert.deepEqual(unpackClaimed(claims, sent.values, sent.texts, sent.bodies), outcomes);
    }),
  );
});
