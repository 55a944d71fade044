/** What every engine must show. Each engine's test runs this suite on stores of its own. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type Claim,
  type ClaimedMessage,
  isVolatile,
  type NewMessage,
  type News,
  type Posting,
  type Settlement,
  type Store,
} from './store.ts';

export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and opens the same data again. */
  reopen(): Promise<Store>;
  /** Closes the store and removes its data. */
  close(): Promise<void>;
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const idsOf = (messages: readonly { id: number }[]): number[] => messages.map(({ id }) => id);

/** Shorthands on one store. */
function using(store: Store) {
  let names = 0;
  const create = async (kind: 'queue' | 'topic'): Promise<number> => {
    const id = store.nextId();
    await store.transaction(async (tx) => {
      await tx.run(
        `INSERT INTO destination (id, kind, name, settings, version, created) VALUES ($1, $2, $3, '{}', 1, 0)`,
        [id, kind, `${kind}-${id}-${names++}`],
      );
      if (kind === 'topic') await tx.run('INSERT INTO topic_position (dest, last) VALUES ($1, 0)', [id]);
    });
    return id;
  };
  const message = (more: Partial<NewMessage> & { volatile?: boolean; text?: string } = {}): NewMessage => {
    const { volatile, text, ...fields } = more;
    return {
      id: store.nextId() * 2 + (volatile ? 1 : 0),
      contentType: 'text/plain',
      headers: '[]',
      body: Buffer.from(text ?? 'hello'),
      rank: 5,
      expires: null,
      delayedUntil: null,
      ...fields,
    };
  };
  const post = (destination: number, messages: readonly NewMessage[], more: Partial<Posting> = {}) =>
    store.messages.post({ destination, kind: 'queue', posted: 1_000, messages, ...more });
  const claim = (destination: number, more: Partial<Claim> = {}) =>
    store.messages.claim({
      destination,
      max: 1,
      maxBytes: 1_000_000,
      mode: 'lease',
      due: 60_000,
      token: store.nextId(),
      now: 1_000,
      ...more,
    });
  const settle = (id: number, token: number, more: Partial<Settlement> = {}) =>
    store.messages.settle({ id, token, verdict: 'acknowledge', due: 90_000, maxDeliveries: 10, now: 2_000, ...more });
  const delivery = (id: number) =>
    store.read((tx) =>
      tx.get<{ state: number; due: number | null; tries: number; token: number }>(
        `SELECT state, due, tries, token FROM ${tx.dialect.placeOf(id).delivery} WHERE id = $1`,
        [id],
      ),
    );
  const stored = (destination: number) =>
    store.read(async (tx) => {
      const ids: number[] = [];
      for (const place of tx.dialect.places) {
        const rows = await tx.all<{ id: number }>(`SELECT id FROM ${place.message} WHERE dest = $1`, [destination]);
        ids.push(...idsOf(rows));
      }
      return ids.sort((a, b) => a - b);
    });
  return { create, message, post, claim, settle, delivery, stored };
}

/** Declares the suite. */
export function storeCases(name: string, open: () => Promise<OpenedStore>): void {
  describe(`store on ${name}`, { timeout: 120_000 }, () => {
    let opened: OpenedStore;
    let store: Store;
    let on: ReturnType<typeof using>;
    before(async () => {
      opened = await open();
      store = opened.store;
      on = using(store);
    });
    after(() => opened.close());

    describe('posting and claiming', () => {
      it('gives back what was posted', async () => {
        const queue = await on.create('queue');
        const body = Buffer.from([0, 255, 10, 92, 34, 39, 128]);
        const headers = JSON.stringify([['X-Text', 'quote " backslash \\ comma , brace } ü 😀']]);
        const posted = on.message({ body, headers, contentType: null });
        assert.equal(await on.post(queue, [posted], { posted: 1_234 }), 'stored');
        const [claimed, ...more] = await on.claim(queue, { token: 77 });
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
        const queue = await on.create('queue');
        const large = Buffer.alloc(3_000_000, 'ab');
        await on.post(queue, [on.message({ text: '', contentType: '' })]);
        await on.post(queue, [on.message({ body: large })]);
        const [empty] = await on.claim(queue);
        assert.equal(empty?.body.length, 0);
        assert.equal(empty?.contentType, '');
        const [second] = await on.claim(queue, { maxBytes: 10 });
        assert.ok(second?.body.equals(large));
      });

      it('orders by rank, then by arrival', async () => {
        const queue = await on.create('queue');
        const messages = [5, 9, 5, 0, 5, 0].map((rank) => on.message({ rank }));
        for (const message of messages.slice(0, 3)) await on.post(queue, [message]);
        await on.post(queue, messages.slice(3));
        const expected = [3, 5, 0, 2, 4, 1].map((index) => messages[index]?.id);
        assert.deepEqual(idsOf(await on.claim(queue, { max: 10 })), expected);
      });

      it('gives a message of higher priority first, also after others were claimed', async () => {
        const queue = await on.create('queue');
        const first = on.message();
        const second = on.message();
        const urgent = on.message({ rank: 1 });
        await on.post(queue, [first, second]);
        assert.deepEqual(idsOf(await on.claim(queue)), [first.id]);
        await on.post(queue, [urgent]);
        assert.deepEqual(idsOf(await on.claim(queue)), [urgent.id]);
        assert.deepEqual(idsOf(await on.claim(queue)), [second.id]);
      });

      it('holds a delayed message back', async () => {
        const queue = await on.create('queue');
        const delayed = on.message({ delayedUntil: 5_000 });
        const plain = on.message();
        await on.post(queue, [delayed, plain]);
        assert.deepEqual(idsOf(await on.claim(queue, { max: 10, now: 9_000 })), [plain.id]);
        const row = await on.delivery(delayed.id);
        assert.equal(row?.state, 2);
        assert.equal(row?.due, 5_000);
      });

      it('sees what a transaction made available, wherever it lies in the queue', async () => {
        const queue = await on.create('queue');
        const delayed = on.message({ delayedUntil: 5_000 });
        const plain = on.message();
        await on.post(queue, [delayed, plain]);
        await on.claim(queue);
        await store.transaction((tx) =>
          tx.run(`UPDATE ${tx.dialect.placeOf(delayed.id).delivery} SET state = 0, due = NULL WHERE id = $1`, [
            delayed.id,
          ]),
        );
        assert.deepEqual(idsOf(await on.claim(queue)), [delayed.id]);
      });

      it('consumes for good or leases, each with its own due and token', async () => {
        const queue = await on.create('queue');
        await on.post(queue, [on.message(), on.message(), on.message()]);
        const claimed = await Promise.all([
          on.claim(queue, { mode: 'consume', due: 70_000, token: 11 }),
          on.claim(queue, { mode: 'lease', due: 50_000, token: 12 }),
          on.claim(queue, { mode: 'consume', due: 80_000, token: 13 }),
        ]);
        const rows = await Promise.all(claimed.flat().map(({ id }) => on.delivery(id)));
        assert.deepEqual(
          rows.map((row) => ({ ...row })),
          [
            { state: 5, due: 70_000, tries: 1, token: 11 },
            { state: 1, due: 50_000, tries: 1, token: 12 },
            { state: 5, due: 80_000, tries: 1, token: 13 },
          ],
        );
        assert.deepEqual(await on.claim(queue), []);
      });

      it('stops before the message that would pass the bytes, but gives the first', async () => {
        const queue = await on.create('queue');
        const messages = [400, 400, 400, 5_000, 1].map((size) => on.message({ text: 'x'.repeat(size) }));
        await on.post(queue, messages);
        const ids = idsOf(messages);
        assert.deepEqual(idsOf(await on.claim(queue, { max: 10, maxBytes: 1_000 })), ids.slice(0, 2));
        assert.deepEqual(idsOf(await on.claim(queue, { max: 10, maxBytes: 1_000 })), ids.slice(2, 3));
        assert.deepEqual(idsOf(await on.claim(queue, { max: 10, maxBytes: 1_000 })), ids.slice(3, 4));
        assert.deepEqual(idsOf(await on.claim(queue, { max: 10, maxBytes: 1_000 })), ids.slice(4));
      });

      it('serves claims that arrive together in their order, whatever their bounds', async () => {
        const queue = await on.create('queue');
        const messages = range(8).map(() => on.message({ text: 'x'.repeat(600) }));
        await on.post(queue, messages);
        const claimed = await Promise.all([
          on.claim(queue, { max: 10, maxBytes: 1_000 }),
          on.claim(queue, { max: 10, maxBytes: 1_300 }),
          on.claim(queue, { max: 1, maxBytes: 10 }),
          on.claim(queue, { max: 3 }),
          on.claim(queue, { max: 3 }),
          on.claim(queue),
        ]);
        assert.deepEqual(
          claimed.map((part) => part.length),
          [1, 2, 1, 3, 1, 0],
        );
        assert.deepEqual(idsOf(claimed.flat()), idsOf(messages));
      });

      it('never gives an expired message', async () => {
        const queue = await on.create('queue');
        const expired = on.message({ expires: 3_000 });
        const lasting = on.message({ expires: 3_001 });
        await on.post(queue, [expired, lasting]);
        assert.deepEqual(idsOf(await on.claim(queue, { max: 10, now: 3_000 })), [lasting.id]);
      });

      it('delivers volatile messages in one order with durable ones', async () => {
        const queue = await on.create('queue');
        const messages = range(40).map((index) => on.message({ volatile: index % 3 === 0, rank: index < 20 ? 5 : 4 }));
        for (const message of messages) await on.post(queue, [message]);
        const expected = idsOf([...messages.slice(20), ...messages.slice(0, 20)]);
        assert.ok(expected.some(isVolatile) && !expected.every(isVolatile));
        const claimed = [...(await on.claim(queue, { max: 25 })), ...(await on.claim(queue, { max: 25 }))];
        assert.deepEqual(idsOf(claimed), expected);
      });

      it('gives sixteen racing claimers each message once', async () => {
        const queue = await on.create('queue');
        const messages = range(3_000).map(() => on.message({ text: 'x' }));
        await Promise.all(range(30).map((part) => on.post(queue, messages.slice(part * 100, part * 100 + 100))));
        const taken: number[] = [];
        await Promise.all(
          range(16).map(async (claimer) => {
            for (;;) {
              const claimed = await on.claim(queue, { max: 1 + (claimer % 8) });
              if (claimed.length === 0) return;
              taken.push(...idsOf(claimed));
            }
          }),
        );
        assert.equal(taken.length, 3_000);
        assert.equal(new Set(taken).size, 3_000);
      });
    });

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
        ['extend', 'consumed', 'overtaken', undefined],
        ['extend', 'dead', 'overtaken', undefined],
        ['extend', 'expired', 'overtaken', undefined],
      ];
      for (const [verdict, from, outcome, becomes] of table) {
        it(`${verdict} when ${from}: ${outcome}`, async () => {
          const queue = await on.create('queue');
          const message = on.message();
          await on.post(queue, [message]);
          await on.claim(queue, { token: 5 });
          await store.transaction((tx) =>
            tx.run(`UPDATE ${tx.dialect.placeOf(message.id).delivery} SET state = $1 WHERE id = $2`, [
              states[from],
              message.id,
            ]),
          );
          const before = await on.delivery(message.id);
          const due = verdict === 'return' ? null : 95_000;
          assert.equal(await on.settle(message.id, 5, { verdict, due }), outcome);
          const row = await on.delivery(message.id);
          if (becomes === undefined) assert.deepEqual(row, before);
          else assert.equal(row?.state, becomes);
          if (becomes === 1) assert.equal(row?.due, 95_000);
          if (becomes === 0) assert.equal(row?.due, null);
        });
      }

      it('knows an overtaken token and a message that is gone', async () => {
        const queue = await on.create('queue');
        const message = on.message();
        await on.post(queue, [message]);
        await on.claim(queue, { token: 5 });
        for (const verdict of ['acknowledge', 'return', 'extend'] as const) {
          assert.equal(await on.settle(message.id, 4, { verdict }), 'overtaken');
          assert.equal(await on.settle(store.nextId() * 2, 5, { verdict }), 'gone');
        }
        assert.equal((await on.delivery(message.id))?.state, 1);
      });

      it('returns a message to its place, at once or later, until it is dead', async () => {
        const queue = await on.create('queue');
        const [first, second] = [on.message({ volatile: true }), on.message()];
        await on.post(queue, [first, second]);
        await on.claim(queue, { max: 2, token: 5 });
        assert.equal(await on.settle(second.id, 5, { verdict: 'return', due: null }), 'done');
        assert.equal(await on.settle(first.id, 5, { verdict: 'return', due: null, maxDeliveries: 2 }), 'done');
        const again = await on.claim(queue, { max: 2, token: 6 });
        assert.deepEqual(idsOf(again), [first.id, second.id]);
        assert.equal(again[0]?.deliveries, 2);
        const dead = await on.settle(first.id, 6, { verdict: 'return', due: 50_000, maxDeliveries: 2, now: 4_000 });
        assert.equal(dead, 'dead');
        assert.deepEqual({ ...(await on.delivery(first.id)) }, { state: 1, due: 4_000, tries: 2, token: 6 });
        assert.equal(await on.settle(second.id, 6, { verdict: 'return', due: 50_000 }), 'done');
        assert.deepEqual({ ...(await on.delivery(second.id)) }, { state: 2, due: 50_000, tries: 2, token: 6 });
      });

      it('takes many settlements of the same message at once', async () => {
        const queue = await on.create('queue');
        const message = on.message();
        await on.post(queue, [message]);
        await on.claim(queue, { token: 5 });
        const outcomes = await Promise.all(
          range(20).map((index) =>
            on.settle(message.id, index % 2 === 0 ? 5 : 4, index % 4 === 0 ? {} : { verdict: 'return', due: null }),
          ),
        );
        assert.deepEqual(
          outcomes,
          range(20).map((index) => (index % 2 === 0 ? 'done' : 'overtaken')),
        );
      });
    });

    describe('once', () => {
      it('lets one of sixteen racing uses of a link through', async () => {
        const queue = await on.create('queue');
        for (let n = 1; n <= 5; n++) {
          const once = { chain: queue, n, expires: 9_000 };
          const messages = range(16).map(() => on.message());
          const outcomes = await Promise.all(messages.map((message) => on.post(queue, [message], { once })));
          assert.equal(outcomes.filter((outcome) => outcome === 'stored').length, 1, `link ${n}`);
          assert.equal(outcomes.filter((outcome) => outcome === 'once-used').length, 15, `link ${n}`);
          const winner = messages[outcomes.indexOf('stored')];
          assert.deepEqual(idsOf(await on.claim(queue, { max: 20 })), [winner?.id]);
        }
        assert.equal((await on.stored(queue)).length, 5);
      });

      it('refuses a link of the past and one that skips', async () => {
        const topic = await on.create('topic');
        const use = (n: number) =>
          on.post(topic, [on.message()], { kind: 'topic', once: { chain: topic, n, expires: 9_000 } });
        assert.deepEqual(
          [await use(1), await use(2), await use(1), await use(4), await use(3)],
          ['stored', 'stored', 'once-used', 'once-used', 'stored'],
        );
        assert.equal((await on.stored(topic)).length, 3);
      });

      it('does not use a link up when the destination is gone', async () => {
        const queue = await on.create('queue');
        const chain = store.nextId();
        const once = { chain, n: 1, expires: 9_000 };
        const gone = store.nextId();
        for (const kind of ['queue', 'topic'] as const) {
          assert.equal(await on.post(gone, [on.message()], { kind, once }), 'no-destination');
        }
        assert.equal(await store.read((tx) => tx.get('SELECT n FROM once_chain WHERE chain = $1', [chain])), undefined);
        assert.equal(await on.post(queue, [on.message()], { once }), 'stored');
      });
    });

    describe('topics', () => {
      it('numbers the messages of a posting in their order', async () => {
        const topic = await on.create('topic');
        const messages = range(5).map((index) => on.message({ volatile: index === 2 }));
        await on.post(topic, messages.slice(0, 2), { kind: 'topic' });
        await on.post(topic, messages.slice(2), { kind: 'topic' });
        const positions = await store.read(async (tx) => {
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
        const topics = [await on.create('topic'), await on.create('topic')];
        const perTopic = 32 * 20;
        const posters = range(64).map(async (poster) => {
          for (let count = 0; count < 10; count++) {
            const messages = [on.message(), on.message()];
            assert.equal(await on.post(topics[poster % 2] as number, messages, { kind: 'topic' }), 'stored');
          }
        });
        const followers = topics.map(async (topic) => {
          let cursor = 0;
          while (cursor < perTopic) {
            const rows = await store.read((tx) =>
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
          const destination = await on.create(kind);
          const other = await on.create(kind);
          const outcomes: Promise<string>[] = [];
          const postSome = () => {
            for (const _ of range(20)) outcomes.push(on.post(destination, [on.message(), on.message()], { kind }));
            return on.post(other, [on.message()], { kind });
          };
          await postSome();
          const deletion = store.transaction(async (tx) => {
            await tx.run('DELETE FROM topic_position WHERE dest = $1', [destination]);
            await tx.run('DELETE FROM destination WHERE id = $1', [destination]);
          });
          await Promise.all([postSome(), postSome(), deletion]);
          assert.equal(await postSome(), 'stored');
          assert.equal(await on.post(destination, [on.message()], { kind }), 'no-destination');
          const stored = (await Promise.all(outcomes)).filter((outcome) => outcome === 'stored').length;
          assert.ok(stored >= 20 && stored < outcomes.length);
          assert.equal((await on.stored(destination)).length, stored * 2);
          assert.equal((await on.stored(other)).length, 4);
        });
      }

      it('posts all messages of a posting or none, and lets no other posting suffer', async () => {
        const queue = await on.create('queue');
        const taken = on.message();
        await on.post(queue, [taken]);
        const good = range(10).map(() => on.message());
        const lost = [on.message(), on.message()];
        const posts = good.map((message) => on.post(queue, [message]));
        const bad = on.post(queue, [lost[0] as NewMessage, taken, lost[1] as NewMessage]);
        posts.push(on.post(queue, [on.message()]));
        await assert.rejects(bad);
        assert.ok((await Promise.all(posts)).every((outcome) => outcome === 'stored'));
        const stored = await on.stored(queue);
        assert.equal(stored.length, 12);
        for (const { id } of lost) assert.ok(!stored.includes(id));
        for (const { id } of lost) assert.equal(await on.delivery(id), undefined);
      });

      it('counts limits and recognises chosen ids, also when they race', async () => {
        const queue = await on.create('queue');
        const limits = { length: 5 };
        const limited = await Promise.all(range(16).map(() => on.post(queue, [on.message()], { limits })));
        assert.equal(limited.filter((outcome) => outcome === 'stored').length, 5);
        assert.equal(limited.filter((outcome) => outcome === 'full').length, 11);
        await on.claim(queue, { max: 10, mode: 'consume' });
        const name = (content: string) => ({ text: 'mine', hash: Buffer.from('h'), content: Buffer.from(content) });
        const named = await Promise.all(range(16).map(() => on.post(queue, [on.message()], { name: name('a') })));
        assert.equal(named.filter((outcome) => outcome === 'stored').length, 1);
        assert.equal(named.filter((outcome) => outcome === 'name-known').length, 15);
        assert.equal(await on.post(queue, [on.message()], { name: name('b') }), 'name-taken');
        const claimed = await on.claim(queue, { max: 10 });
        assert.deepEqual(
          claimed.map((message) => message.name),
          ['mine'],
        );
      });
    });

    describe('transactions', () => {
      const chainOf = (chain: number) =>
        store.read((tx) => tx.get<{ n: number }>('SELECT n FROM once_chain WHERE chain = $1', [chain]));
      const insert = 'INSERT INTO once_chain (chain, n, expires) VALUES ($1, 1, 1)';

      it('leave nothing of a job that throws', async () => {
        const chain = store.nextId();
        const job = store.transaction(async (tx) => {
          await tx.run(insert, [chain]);
          throw new RangeError('no');
        });
        await assert.rejects(job, RangeError);
        assert.equal(await chainOf(chain), undefined);
      });

      it('keep apart from others: a failing one harms no other', async () => {
        const chains = range(40).map(() => store.nextId());
        const results = await Promise.allSettled(
          chains.map((chain, index) =>
            store.transaction(async (tx) => {
              await tx.run(insert, [chain]);
              if (index % 8 === 3) throw new RangeError('no');
              if (index % 8 === 5) await tx.run(insert, [chain]);
              if (index % 8 === 7) await tx.run('this is no SQL');
              return index;
            }),
          ),
        );
        for (const [index, result] of results.entries()) {
          const fails = [3, 5, 7].includes(index % 8);
          assert.equal(result.status, fails ? 'rejected' : 'fulfilled', `job ${index}`);
          assert.equal((await chainOf(chains[index] as number)) === undefined, fails, `row ${index}`);
        }
      });

      it('reject a job that breaks a unique rule, however many try', async () => {
        const chain = store.nextId();
        const results = await Promise.allSettled(
          range(16).map(() => store.transaction((tx) => tx.run(insert, [chain]))),
        );
        assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
      });

      it('tell how many rows changed and give lists a meaning', async () => {
        const chains = range(5).map(() => store.nextId());
        const { dialect } = store;
        const changed = await store.transaction(async (tx) => {
          for (const chain of chains) await tx.run(insert, [chain]);
          const text = `UPDATE once_chain SET n = n + 1 WHERE chain ${dialect.inList('$1')}`;
          return [await tx.run(text, [dialect.list(chains.slice(1, 4))]), await tx.run(text, [dialect.list([])])];
        });
        assert.deepEqual(changed, [3, 0]);
      });

      it('lose no update when sixteen count on the same row', async () => {
        const chain = store.nextId();
        await store.transaction((tx) => tx.run(insert, [chain]));
        await Promise.all(
          range(16).map(() =>
            store.transaction(async (tx) => {
              const text = `SELECT n FROM once_chain WHERE chain = $1 ${tx.dialect.forUpdate}`;
              const row = await tx.get<{ n: number }>(text, [chain]);
              await tx.run('UPDATE once_chain SET n = $1 WHERE chain = $2', [(row?.n ?? 0) + 1, chain]);
            }),
          ),
        );
        assert.equal((await chainOf(chain))?.n, 17);
      });
    });

    it('tells listeners what is announced', () => {
      const heard: News[] = [];
      store.listen((news) => heard.push(news));
      const news: News = { arrived: new Map([[store.nextId(), 2]]), changed: [store.nextId()] };
      store.announce(news);
      assert.deepEqual(heard, [news]);
    });

    it('answers a ping and keeps time', async () => {
      await store.ping();
      const before = store.now();
      await store.ping();
      assert.ok(Number.isInteger(before) && store.now() >= before - 1);
      assert.ok(Math.abs(before - Date.now()) < 60_000);
    });

    it('hands out no id twice and keeps its secret and messages when opened again', async () => {
      const again = await open();
      try {
        const { secret } = again.store;
        assert.equal(secret.length, 32);
        const ids = new Set(range(3).map(() => again.store.nextId()));
        let highest = Math.max(...ids);
        const first = using(again.store);
        const queue = await first.create('queue');
        const message = first.message();
        await first.post(queue, [message]);
        for (const _ of range(2)) {
          const store = await again.reopen();
          assert.ok(store.secret.equals(secret));
          const id = store.nextId();
          assert.ok(id > highest && id > message.id / 2);
          highest = id;
        }
        const store = await again.reopen();
        assert.deepEqual(idsOf(await using(store).claim(queue)), [message.id]);
      } finally {
        await again.close();
      }
    });
  });
}
