/** What every engine shows of once-links, topics, and destinations that go away or are full. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NewMessage } from '../store.ts';
import { idsOf, range, type Subject } from './tools.ts';

export function postingCases(subject: Subject): void {
  describe('once', () => {
    it('lets one of sixteen racing uses of a link through', async () => {
      const queue = await subject.on.create('queue');
      for (let n = 1; n <= 5; n++) {
        const once = { chain: queue, n, expires: 9_000 };
        const messages = range(16).map(() => subject.on.message());
        const outcomes = await Promise.all(messages.map((message) => subject.on.post(queue, [message], { once })));
        assert.equal(outcomes.filter((outcome) => outcome === 'stored').length, 1, `link ${n}`);
        assert.equal(outcomes.filter((outcome) => outcome === 'once-used').length, 15, `link ${n}`);
        const winner = messages[outcomes.indexOf('stored')];
        assert.deepEqual(idsOf(await subject.on.claim(queue, { max: 20 })), [winner?.id]);
      }
      assert.equal((await subject.on.stored(queue)).length, 5);
    });

    it('refuses a link of the past and one that skips', async () => {
      const topic = await subject.on.create('topic');
      const use = (n: number) =>
        subject.on.post(topic, [subject.on.message()], { kind: 'topic', once: { chain: topic, n, expires: 9_000 } });
      assert.deepEqual(
        [await use(1), await use(2), await use(1), await use(4), await use(3)],
        ['stored', 'stored', 'once-used', 'once-used', 'stored'],
      );
      assert.equal((await subject.on.stored(topic)).length, 3);
    });

    it('tells apart the links of many chains that are used at once', async () => {
      const queue = await subject.on.create('queue');
      const gone = subject.store.nextId();
      const chains = range(12).map(() => subject.store.nextId());
      const use = (chain: number, n: number, expires = 9_000, destination = queue) => {
        const message = subject.on.message({ text: `${chain}/${n}` });
        return subject.on.post(destination, [message], { once: { chain, n, expires } });
      };
      await Promise.all(chains.map((chain) => use(chain, 1)));
      const [again = 0, skipping = 0, longer = 0, ...others] = chains;
      const unknown = subject.store.nextId();
      const outcomes = await Promise.all([
        use(again, 1),
        use(skipping, 3),
        use(longer, 2, 12_000),
        use(unknown, 5),
        subject.on.post(queue, [subject.on.message({ text: 'plain' })]),
        ...others.map((chain) => use(chain, 2)),
      ]);
      const good = range(others.length).map(() => 'stored');
      // Of a chain that is remembered no more, or not yet, nothing is known that would forbid a link.
      assert.deepEqual(outcomes, ['once-used', 'once-used', 'stored', 'stored', 'stored', ...good]);
      // Beside a destination that is gone, the links of the others are used, and its own is not.
      const [lost = 0, ...kept] = others;
      const beside = await Promise.all([
        use(lost, 3, 9_000, gone),
        ...kept.map((chain) => use(chain, 3)),
        use(lost, 2),
      ]);
      assert.deepEqual(beside, ['no-destination', ...kept.map(() => 'stored'), 'once-used']);
      assert.equal(await use(lost, 3), 'stored');
      const texts = (await subject.on.claim(queue, { max: 100 })).map(({ body }) => body.toString());
      const expected = [
        ...chains.map((chain) => `${chain}/1`),
        `${longer}/2`,
        `${unknown}/5`,
        'plain',
        ...others.map((chain) => `${chain}/2`),
        ...others.map((chain) => `${chain}/3`),
      ];
      assert.deepEqual(texts.toSorted(), expected.toSorted());
    });

    it('takes a repeat for one, wherever it comes from, while its chain goes on', async () => {
      const queue = await subject.on.create('queue');
      const chains = range(8).map(() => subject.store.nextId());
      const links = range(10).map((index) => index + 1);
      const stored = await Promise.all(
        chains.map(async (chain) => {
          let count = 0;
          for (const n of links) {
            const post = () => subject.on.post(queue, [subject.on.message()], { once: { chain, n, expires: 9_000 } });
            const outcomes = await Promise.all([post(), post(), post()]);
            assert.deepEqual(outcomes.toSorted(), ['once-used', 'once-used', 'stored']);
            count++;
          }
          return count;
        }),
      );
      assert.deepEqual(
        stored,
        chains.map(() => links.length),
      );
      assert.equal((await subject.on.stored(queue)).length, chains.length * links.length);
    });

    it('remembers a chain as long as any of its links', async () => {
      const queue = await subject.on.create('queue');
      const remembered = (chain: number) =>
        subject.store.read((tx) =>
          tx.get<{ expires: number }>('SELECT expires FROM once_chain WHERE chain = $1', [chain]),
        );
      for (const more of [{}, { limits: { length: 100 } }]) {
        const chain = subject.store.nextId();
        for (const [n, expires] of [
          [1, 9_000],
          [2, 5_000],
          [3, 12_000],
        ] as const) {
          await subject.on.post(queue, [subject.on.message()], { once: { chain, n, expires }, ...more });
          assert.equal((await remembered(chain))?.expires, Math.max(9_000, expires));
        }
      }
    });

    it('does not use a link up when the destination is gone', async () => {
      const queue = await subject.on.create('queue');
      const chain = subject.store.nextId();
      const once = { chain, n: 1, expires: 9_000 };
      const gone = subject.store.nextId();
      for (const kind of ['queue', 'topic'] as const) {
        assert.equal(await subject.on.post(gone, [subject.on.message()], { kind, once }), 'no-destination');
      }
      assert.equal(
        await subject.store.read((tx) => tx.get('SELECT n FROM once_chain WHERE chain = $1', [chain])),
        undefined,
      );
      assert.equal(await subject.on.post(queue, [subject.on.message()], { once }), 'stored');
    });
  });

  describe('topics', () => {
    it('numbers the messages of a posting in their order', async () => {
      const topic = await subject.on.create('topic');
      const messages = range(5).map((index) => subject.on.message({ volatile: index === 2 }));
      await subject.on.post(topic, messages.slice(0, 2), { kind: 'topic' });
      await subject.on.post(topic, messages.slice(2), { kind: 'topic' });
      const positions = await subject.store.read(async (tx) => {
        const rows: { id: number; pos: number }[] = [];
        for (const { message } of tx.dialect.places) {
          rows.push(...(await tx.all<(typeof rows)[0]>(`SELECT id, pos FROM ${message} WHERE dest = $1`, [topic])));
        }
        return new Map(rows.map(({ id, pos }) => [id, pos]));
      });
      assert.deepEqual(
        messages.map(({ id }) => positions.get(id)),
        [1, 2, 3, 4, 5],
      );
    });

    it('shows a follower every message, while 64 posters post', async () => {
      const topics = [await subject.on.create('topic'), await subject.on.create('topic')];
      const perTopic = 32 * 20;
      const posters = range(64).map(async (poster) => {
        for (let count = 0; count < 10; count++) {
          const messages = [subject.on.message(), subject.on.message()];
          assert.equal(await subject.on.post(topics[poster % 2] as number, messages, { kind: 'topic' }), 'stored');
        }
      });
      const followers = topics.map(async (topic) => {
        let cursor = 0;
        while (cursor < perTopic) {
          const rows = await subject.store.read((tx) =>
            tx.all<{ pos: number }>(
              `SELECT pos FROM ${tx.dialect.placeOf(2).message} WHERE dest = $1 AND pos > $2 ORDER BY pos LIMIT 100`,
              [topic, cursor],
            ),
          );
          for (const { pos } of rows) assert.equal(pos, ++cursor);
          await new Promise(setImmediate);
        }
      });
      await Promise.all([...posters, ...followers]);
    });
  });

  describe('destinations', () => {
    for (const kind of ['queue', 'topic'] as const) {
      it(`stores nothing in a ${kind} that is deleted while messages are posted`, async () => {
        const destination = await subject.on.create(kind);
        const other = await subject.on.create(kind);
        const outcomes: Promise<string>[] = [];
        const postSome = () => {
          for (const _ of range(20))
            outcomes.push(subject.on.post(destination, [subject.on.message(), subject.on.message()], { kind }));
          return subject.on.post(other, [subject.on.message()], { kind });
        };
        await postSome();
        const deletion = subject.store.transaction(async (tx) => {
          await tx.run('DELETE FROM topic_position WHERE dest = $1', [destination]);
          await tx.run('DELETE FROM destination WHERE id = $1', [destination]);
        });
        await Promise.all([postSome(), postSome(), deletion]);
        assert.equal(await postSome(), 'stored');
        assert.equal(await subject.on.post(destination, [subject.on.message()], { kind }), 'no-destination');
        const stored = (await Promise.all(outcomes)).filter((outcome) => outcome === 'stored').length;
        assert.ok(stored >= 20 && stored < outcomes.length);
        assert.equal((await subject.on.stored(destination)).length, stored * 2);
        assert.equal((await subject.on.stored(other)).length, 4);
      });
    }

    it('posts all messages of a posting or none, and lets no other posting suffer', async () => {
      const queue = await subject.on.create('queue');
      const taken = subject.on.message();
      await subject.on.post(queue, [taken]);
      const good = range(10).map(() => subject.on.message());
      const lost = [subject.on.message(), subject.on.message()];
      const posts = good.map((message) => subject.on.post(queue, [message]));
      const bad = subject.on.post(queue, [lost[0] as NewMessage, taken, lost[1] as NewMessage]);
      posts.push(subject.on.post(queue, [subject.on.message()]));
      await assert.rejects(bad);
      assert.ok((await Promise.all(posts)).every((outcome) => outcome === 'stored'));
      const stored = await subject.on.stored(queue);
      assert.equal(stored.length, 12);
      for (const { id } of lost) assert.ok(!stored.includes(id));
      for (const { id } of lost) assert.equal(await subject.on.delivery(id), undefined);
    });

    it('lets no verdict and no claim suffer for a post that fails beside them', async () => {
      const queue = await subject.on.create('queue');
      const taken = subject.on.message();
      await subject.on.post(queue, [taken, subject.on.message()]);
      const [{ token } = { token: 0 }] = await subject.on.claim(queue);
      const outcomes = await Promise.allSettled([
        subject.on.settle(taken.id, token),
        subject.on.post(queue, [taken]),
        subject.on.claim(queue),
        subject.store.messages.forgetFinished({ after: queue - 1, now: 1_000, kept: 10, rememberIds: 1 }),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
      );
    });

    it('keeps nothing of what a full queue refused: the id and the link stay free, and repeats are still known', async () => {
      const queue = await subject.on.create('queue');
      const limits = { length: 1 };
      const named = (text: string) => ({ text, hash: Buffer.from(text), content: Buffer.from('c') });
      const once = { chain: queue, n: 1, expires: 9_000 };
      const post = (extra: object) => subject.on.post(queue, [subject.on.message()], { limits, ...extra });
      assert.equal(await post({ name: named('first') }), 'stored');
      assert.equal(await post({ name: named('second') }), 'full');
      assert.equal(await post({ name: named('first') }), 'name-known');
      assert.equal(await post({ once }), 'full');
      await subject.on.claim(queue, { max: 1, mode: 'consume' });
      assert.equal(await post({ name: named('second') }), 'stored');
      await subject.on.claim(queue, { max: 1, mode: 'consume' });
      assert.equal(await post({ once }), 'stored');
      assert.equal(await post({ once }), 'once-used');
    });

    it('counts limits and recognises chosen ids, also when they race', async () => {
      const queue = await subject.on.create('queue');
      const limits = { length: 5 };
      const limited = await Promise.all(
        range(16).map(() => subject.on.post(queue, [subject.on.message()], { limits })),
      );
      assert.equal(limited.filter((outcome) => outcome === 'stored').length, 5);
      assert.equal(limited.filter((outcome) => outcome === 'full').length, 11);
      await subject.on.claim(queue, { max: 10, mode: 'consume' });
      const name = (content: string) => ({ text: 'mine', hash: Buffer.from('h'), content: Buffer.from(content) });
      const named = await Promise.all(
        range(16).map(() => subject.on.post(queue, [subject.on.message()], { name: name('a') })),
      );
      assert.equal(named.filter((outcome) => outcome === 'stored').length, 1);
      assert.equal(named.filter((outcome) => outcome === 'name-known').length, 15);
      assert.equal(await subject.on.post(queue, [subject.on.message()], { name: name('b') }), 'name-taken');
      const claimed = await subject.on.claim(queue, { max: 10 });
      assert.deepEqual(
        claimed.map((message) => message.name),
        ['mine'],
      );
    });
  });
}
