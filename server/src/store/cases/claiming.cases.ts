/** What every engine shows when messages are posted and claimed. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ClaimedMessage, isVolatile } from '../store.ts';
import { idsOf, range, type Subject } from './tools.ts';

export function claimingCases(subject: Subject): void {
  describe('posting and claiming', () => {
    it('gives back what was posted', async () => {
      const queue = await subject.on.create('queue');
      const body = Buffer.from([0, 255, 10, 92, 34, 39, 128]);
      const headers = JSON.stringify([['X-Text', 'quote " backslash \\ comma , brace } ü 😀']]);
      const posted = subject.on.message({ body, headers, contentType: null });
      assert.equal(await subject.on.post(queue, [posted], { posted: 1_234 }), 'stored');
      const [claimed, ...more] = await subject.on.claim(queue, { token: 77 });
      assert.equal(more.length, 0);
      assert.deepEqual(claimed, {
        id: posted.id,
        destination: queue,
        position: null,
        posted: 1_234,
        contentType: null,
        headers,
        name: null,
        body,
        deliveries: 1,
        token: 77,
      } satisfies ClaimedMessage);
    });

    it('keeps an empty body, an empty field and a large body', async () => {
      const queue = await subject.on.create('queue');
      const large = Buffer.alloc(3_000_000, 'ab');
      await subject.on.post(queue, [subject.on.message({ text: '', contentType: '' })]);
      await subject.on.post(queue, [subject.on.message({ body: large })]);
      const [empty] = await subject.on.claim(queue);
      assert.equal(empty?.body.length, 0);
      assert.equal(empty?.contentType, '');
      const [second] = await subject.on.claim(queue, { maxBytes: 10 });
      assert.ok(second?.body.equals(large));
    });

    it('orders by rank, then by arrival', async () => {
      const queue = await subject.on.create('queue');
      const messages = [5, 9, 5, 0, 5, 0].map((rank) => subject.on.message({ rank }));
      for (const message of messages.slice(0, 3)) await subject.on.post(queue, [message]);
      await subject.on.post(queue, messages.slice(3));
      const expected = [3, 5, 0, 2, 4, 1].map((index) => messages[index]?.id);
      assert.deepEqual(idsOf(await subject.on.claim(queue, { max: 10 })), expected);
    });

    it('gives a message of higher priority first, also after others were claimed', async () => {
      const queue = await subject.on.create('queue');
      const first = subject.on.message();
      const second = subject.on.message();
      const urgent = subject.on.message({ rank: 1 });
      await subject.on.post(queue, [first, second]);
      assert.deepEqual(idsOf(await subject.on.claim(queue)), [first.id]);
      await subject.on.post(queue, [urgent]);
      assert.deepEqual(idsOf(await subject.on.claim(queue)), [urgent.id]);
      assert.deepEqual(idsOf(await subject.on.claim(queue)), [second.id]);
    });

    it('holds a delayed message back', async () => {
      const queue = await subject.on.create('queue');
      const delayed = subject.on.message({ delayedUntil: 5_000 });
      const plain = subject.on.message();
      await subject.on.post(queue, [delayed, plain]);
      assert.deepEqual(idsOf(await subject.on.claim(queue, { max: 10, now: 9_000 })), [plain.id]);
      const row = await subject.on.delivery(delayed.id);
      assert.equal(row?.state, 2);
      assert.equal(row?.due, 5_000);
    });

    it('sees what a transaction made available, wherever it lies in the queue', async () => {
      const queue = await subject.on.create('queue');
      const delayed = subject.on.message({ delayedUntil: 5_000 });
      const plain = subject.on.message();
      await subject.on.post(queue, [delayed, plain]);
      await subject.on.claim(queue);
      await subject.store.transaction((tx) =>
        tx.run(`UPDATE ${tx.dialect.placeOf(delayed.id).delivery} SET state = 0, due = NULL WHERE id = $1`, [
          delayed.id,
        ]),
      );
      assert.deepEqual(idsOf(await subject.on.claim(queue)), [delayed.id]);
    });

    it('consumes for good or leases, each with its own due and token', async () => {
      const queue = await subject.on.create('queue');
      await subject.on.post(queue, [subject.on.message(), subject.on.message(), subject.on.message()]);
      const claimed = await Promise.all([
        subject.on.claim(queue, { mode: 'consume', due: 70_000, token: 11 }),
        subject.on.claim(queue, { mode: 'lease', due: 50_000, token: 12 }),
        subject.on.claim(queue, { mode: 'consume', due: 80_000, token: 13 }),
      ]);
      const rows = await Promise.all(claimed.flat().map(({ id }) => subject.on.delivery(id)));
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        [
          { state: 5, due: 70_000, tries: 1, token: 11 },
          { state: 1, due: 50_000, tries: 1, token: 12 },
          { state: 5, due: 80_000, tries: 1, token: 13 },
        ],
      );
      assert.deepEqual(await subject.on.claim(queue), []);
    });

    it('stops before the message that would pass the bytes, but gives the first', async () => {
      const queue = await subject.on.create('queue');
      const messages = [400, 400, 400, 5_000, 1].map((size) => subject.on.message({ text: 'x'.repeat(size) }));
      await subject.on.post(queue, messages);
      const ids = idsOf(messages);
      assert.deepEqual(idsOf(await subject.on.claim(queue, { max: 10, maxBytes: 1_000 })), ids.slice(0, 2));
      assert.deepEqual(idsOf(await subject.on.claim(queue, { max: 10, maxBytes: 1_000 })), ids.slice(2, 3));
      assert.deepEqual(idsOf(await subject.on.claim(queue, { max: 10, maxBytes: 1_000 })), ids.slice(3, 4));
      assert.deepEqual(idsOf(await subject.on.claim(queue, { max: 10, maxBytes: 1_000 })), ids.slice(4));
    });

    it('serves claims that arrive together in their order, whatever their bounds', async () => {
      const queue = await subject.on.create('queue');
      const messages = range(8).map(() => subject.on.message({ text: 'x'.repeat(600) }));
      await subject.on.post(queue, messages);
      const claimed = await Promise.all([
        subject.on.claim(queue, { max: 10, maxBytes: 1_000 }),
        subject.on.claim(queue, { max: 10, maxBytes: 1_300 }),
        subject.on.claim(queue, { max: 1, maxBytes: 10 }),
        subject.on.claim(queue, { max: 3 }),
        subject.on.claim(queue, { max: 3 }),
        subject.on.claim(queue),
      ]);
      assert.deepEqual(
        claimed.map((part) => part.length),
        [1, 2, 1, 3, 1, 0],
      );
      assert.deepEqual(idsOf(claimed.flat()), idsOf(messages));
    });

    it('never gives an expired message', async () => {
      const queue = await subject.on.create('queue');
      const expired = subject.on.message({ expires: 3_000 });
      const lasting = subject.on.message({ expires: 3_001 });
      await subject.on.post(queue, [expired, lasting]);
      assert.deepEqual(idsOf(await subject.on.claim(queue, { max: 10, now: 3_000 })), [lasting.id]);
    });

    it('delivers volatile messages in one order with durable ones', async () => {
      const queue = await subject.on.create('queue');
      const messages = range(40).map((index) =>
        subject.on.message({ volatile: index % 3 === 0, rank: index < 20 ? 5 : 4 }),
      );
      for (const message of messages) await subject.on.post(queue, [message]);
      const expected = idsOf([...messages.slice(20), ...messages.slice(0, 20)]);
      assert.ok(expected.some(isVolatile) && !expected.every(isVolatile));
      const claimed = [
        ...(await subject.on.claim(queue, { max: 25 })),
        ...(await subject.on.claim(queue, { max: 25 })),
      ];
      assert.deepEqual(idsOf(claimed), expected);
    });

    it('gives sixteen racing claimers each message once', async () => {
      const queue = await subject.on.create('queue');
      const messages = range(3_000).map(() => subject.on.message({ text: 'x' }));
      await Promise.all(range(30).map((part) => subject.on.post(queue, messages.slice(part * 100, part * 100 + 100))));
      const taken: number[] = [];
      await Promise.all(
        range(16).map(async (claimer) => {
          for (;;) {
            const claimed = await subject.on.claim(queue, { max: 1 + (claimer % 8) });
            if (claimed.length === 0) return;
            taken.push(...idsOf(claimed));
          }
        }),
      );
      assert.equal(taken.length, 3_000);
      assert.equal(new Set(taken).size, 3_000);
    });
  });
}
