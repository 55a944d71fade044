/** What every engine shows when deliveries are settled. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Settlement } from '../store.ts';
import { idsOf, range, type Subject } from './tools.ts';

export function settlingCases(subject: Subject): void {
  describe('settling', () => {
    const states = { ready: 0, leased: 1, delayed: 2, held: 4, consumed: 5, dead: 6, expired: 7 };
    type Verdict = Settlement['verdict'];
    const table: [Verdict, keyof typeof states, string, number | undefined][] = [
      ['acknowledge', 'ready', 'done', 5],
      ['acknowledge', 'leased', 'done', 5],
      ['acknowledge', 'delayed', 'done', 5],
      ['acknowledge', 'held', 'overtaken', undefined],
      ['acknowledge', 'consumed', 'done', 5],
      ['acknowledge', 'dead', 'overtaken', undefined],
      ['acknowledge', 'expired', 'overtaken', undefined],
      ['return', 'ready', 'done', 0],
      ['return', 'leased', 'done', 0],
      ['return', 'delayed', 'done', 0],
      ['return', 'held', 'overtaken', undefined],
      ['return', 'consumed', 'done', 0],
      ['return', 'dead', 'overtaken', undefined],
      ['return', 'expired', 'overtaken', undefined],
      ['extend', 'ready', 'done', 1],
      ['extend', 'leased', 'done', 1],
      ['extend', 'delayed', 'done', 1],
      ['extend', 'held', 'overtaken', undefined],
      ['extend', 'consumed', 'acknowledged', undefined],
      ['extend', 'dead', 'overtaken', undefined],
      ['extend', 'expired', 'overtaken', undefined],
    ];
    for (const [verdict, from, outcome, becomes] of table) {
      it(`${verdict} when ${from}: ${outcome}`, async () => {
        const queue = await subject.on.create('queue');
        const message = subject.on.message();
        await subject.on.post(queue, [message]);
        await subject.on.claim(queue, { token: 5 });
        await subject.store.transaction((tx) =>
          tx.run(`UPDATE ${tx.dialect.placeOf(message.id).delivery} SET state = $1 WHERE id = $2`, [
            states[from],
            message.id,
          ]),
        );
        const before = await subject.on.delivery(message.id);
        const due = verdict === 'return' ? null : 95_000;
        assert.equal(await subject.on.settle(message.id, 5, { verdict, due }), outcome);
        const row = await subject.on.delivery(message.id);
        if (becomes === undefined) assert.deepEqual(row, before);
        else assert.equal(row?.state, becomes);
        if (becomes === 1) assert.equal(row?.due, 95_000);
        if (becomes === 0) assert.equal(row?.due, null);
      });
    }

    it('knows an overtaken token and a message that is gone', async () => {
      const queue = await subject.on.create('queue');
      const message = subject.on.message();
      await subject.on.post(queue, [message]);
      await subject.on.claim(queue, { token: 5 });
      for (const verdict of ['acknowledge', 'return', 'extend'] as const) {
        assert.equal(await subject.on.settle(message.id, 4, { verdict }), 'overtaken');
        assert.equal(await subject.on.settle(subject.store.nextId() * 2, 5, { verdict }), 'gone');
      }
      assert.equal((await subject.on.delivery(message.id))?.state, 1);
    });

    it('keeps the first acknowledgement: a repeat does not prolong the retention', async () => {
      const queue = await subject.on.create('queue');
      const message = subject.on.message();
      await subject.on.post(queue, [message]);
      await subject.on.claim(queue, { token: 5 });
      for (const due of [90_000, 95_000]) assert.equal(await subject.on.settle(message.id, 5, { due }), 'done');
      assert.equal((await subject.on.delivery(message.id))?.due, 90_000);
    });

    it('returns a message to its place, at once or later, until it is dead', async () => {
      const queue = await subject.on.create('queue');
      const [first, second] = [subject.on.message({ volatile: true }), subject.on.message()];
      await subject.on.post(queue, [first, second]);
      await subject.on.claim(queue, { max: 2, token: 5 });
      assert.equal(await subject.on.settle(second.id, 5, { verdict: 'return', due: null }), 'done');
      assert.equal(await subject.on.settle(first.id, 5, { verdict: 'return', due: null, maxDeliveries: 2 }), 'done');
      const again = await subject.on.claim(queue, { max: 2, token: 6 });
      assert.deepEqual(idsOf(again), [first.id, second.id]);
      assert.equal(again[0]?.deliveries, 2);
      const dead = await subject.on.settle(first.id, 6, {
        verdict: 'return',
        due: 50_000,
        maxDeliveries: 2,
        now: 4_000,
      });
      assert.equal(dead, 'dead');
      assert.deepEqual({ ...(await subject.on.delivery(first.id)) }, { state: 1, due: 4_000, tries: 2, token: 6 });
      assert.equal(await subject.on.settle(second.id, 6, { verdict: 'return', due: 50_000 }), 'done');
      assert.deepEqual({ ...(await subject.on.delivery(second.id)) }, { state: 2, due: 50_000, tries: 2, token: 6 });
    });

    it('tells each of many acknowledgements at once what became of it', async () => {
      const queue = await subject.on.create('queue');
      const messages = range(40).map((index) => subject.on.message({ volatile: index % 10 === 9 }));
      await subject.on.post(queue, messages);
      await subject.on.claim(queue, { max: 40, token: 5 });
      const due = 70_000;
      assert.equal(await subject.on.settle(messages[3]?.id ?? 0, 5, { due }), 'done');
      await subject.on.settle(messages[4]?.id ?? 0, 5, { verdict: 'return', due: null });
      await subject.on.claim(queue, { token: 6 });
      await subject.on.settle(messages[5]?.id ?? 0, 5, { verdict: 'return', due: null });
      const verdicts = messages.map(({ id }, index) =>
        subject.on.settle(index === 6 ? subject.store.nextId() * 2 : id, index === 7 ? 4 : 5),
      );
      const expected = range(40).map((index) => ({ 4: 'overtaken', 6: 'gone', 7: 'overtaken' })[index] ?? 'done');
      assert.deepEqual(await Promise.all(verdicts), expected);
      const rows = await Promise.all(messages.map(({ id }) => subject.on.delivery(id)));
      assert.deepEqual(
        rows.map((row) => row?.state),
        range(40).map((index) => (index === 4 || index === 6 || index === 7 ? 1 : 5)),
      );
      assert.equal(rows[3]?.due, due);
      assert.equal(rows[8]?.due, 90_000);
    });

    it('takes many settlements of the same message at once', async () => {
      const queue = await subject.on.create('queue');
      const message = subject.on.message();
      await subject.on.post(queue, [message]);
      await subject.on.claim(queue, { token: 5 });
      const outcomes = await Promise.all(
        range(20).map((index) =>
          subject.on.settle(
            message.id,
            index % 2 === 0 ? 5 : 4,
            index % 4 === 0 ? {} : { verdict: 'return', due: null },
          ),
        ),
      );
      assert.deepEqual(
        outcomes,
        range(20).map((index) => (index % 2 === 0 ? 'done' : 'overtaken')),
      );
    });
  });
}
