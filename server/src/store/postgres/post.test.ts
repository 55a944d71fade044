/** Batches of posts: which statement they take, what they mean for each posting, and that bodies survive the way. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type FreshDatabase, freshDatabase } from '../../../../testing/databases.ts';
import { type Shorthands, using } from '../cases/tools.ts';
import type { Store } from '../store.ts';
import type { HotPaths } from './messages.ts';
import { queuePosts } from './post.ts';
import { batchOf } from './post-batch.ts';
import { postOutcomes, readyByQueue } from './post-outcomes.ts';
import { type ParameterName, parametersOf } from './post-parameters.ts';
import { openPostgres } from './postgres.ts';

const BODIES: readonly Buffer[] = [
  Buffer.from(''),
  Buffer.from('plain'),
  Buffer.from('{"path":"C:\\\\temp","text":"\\u00e9"}'),
  Buffer.from('\\x6869'),
  Buffer.from('\\'),
  Buffer.from('\\\\101\\101'),
  Buffer.from('\uFEFFäöü € 𝄞 \u007f\u0001\r\n'),
  Buffer.from('zero \0 inside'),
  Buffer.from([0xff, 0xfe, 0x5c, 0x78]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xc0, 0x80]),
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
];

describe('batches of posts', { timeout: 60_000 }, () => {
  let database: FreshDatabase;
  let store: Store;
  let on: Shorthands;
  /** Statements sent so far. */
  const traffic = (): number => (store.messages as HotPaths).traffic;
  before(async () => {
    database = await freshDatabase();
    store = await openPostgres(database.url);
    on = using(store);
  });
  after(async () => {
    await store.close();
    await database.drop();
  });

  it('bring every body back as it was, alone and beside others', async () => {
    for (const bodies of [...BODIES.map((body) => [body]), BODIES, BODIES.slice(0, 7)]) {
      const queue = await on.create('queue');
      const outcomes = await Promise.all(bodies.map((body) => on.post(queue, [on.message({ body })])));
      assert.deepEqual(new Set(outcomes), new Set(['stored']));
      const claimed = await on.claim(queue, { max: bodies.length, mode: 'consume' });
      assert.deepEqual(
        claimed.map(({ body }) => body.toString('hex')),
        bodies.map((body) => body.toString('hex')),
      );
    }
  });

  it('take the statement that has just what they need', async () => {
    const plain = { destination: 1, kind: 'queue', posted: 1, messages: [on.message()] } as const;
    const first = { ...plain, once: { chain: 7, n: 1, expires: 9 } };
    const next = { ...plain, once: { chain: 8, n: 2, expires: 9 } };
    const volatile = { ...plain, messages: [on.message(), on.message({ volatile: true })] };
    const batches = [[plain], [next, plain], [next, first], [volatile], [next, volatile], [first, volatile]];
    const texts = batches.map((batch) => queuePosts(batchOf(batch)));
    assert.equal(new Set(texts).size, 6);
    assert.deepEqual(
      texts.map((text) => [
        text.includes('UPDATE once_chain'),
        text.includes('INSERT INTO once_chain'),
        text.includes('message_durable'),
      ]),
      [
        [false, false, true],
        [true, false, true],
        [false, true, true],
        [false, false, false],
        [true, false, false],
        [false, true, false],
      ],
    );
    assert.equal(queuePosts(batchOf([plain, plain])), texts[0]);
    assert.equal(queuePosts(batchOf([plain, next], 'any')), texts[2]);
  });

  it('send one value for a list whose values are all the same', () => {
    const to = (destination: number, more: object) => ({
      destination,
      kind: 'queue' as const,
      posted: 1,
      messages: [{ ...on.message(), contentType: null, headers: '[]', rank: 5, ...more }],
    });
    const valuesOf = (...postings: ReturnType<typeof to>[]) => {
      const { values, links } = batchOf(postings);
      return (...names: ParameterName[]) => names.map((name) => values[parametersOf(links).indexOf(name)]);
    };
    const same = valuesOf(to(1, {}), to(1, {}));
    assert.deepEqual(same('destinations', 'dest', 'everyDest', 'rank', 'everyRank'), [[1], null, 1, null, 5]);
    assert.deepEqual(same('contentType', 'everyContentType', 'headers', 'everyHeaders'), [null, null, null, '[]']);
    const mixed = valuesOf(to(1, {}), to(2, { rank: 0, contentType: 'a/b', headers: '[1]' }));
    assert.deepEqual(mixed('destinations', 'dest', 'everyDest', 'rank', 'everyRank'), [
      [1, 2],
      [1, 2],
      null,
      [5, 0],
      null,
    ]);
    assert.deepEqual(mixed('contentType', 'everyContentType', 'headers', 'everyHeaders'), [
      [null, 'a/b'],
      null,
      ['[]', '[1]'],
      null,
    ]);
  });

  it('send links in the order of their chains, each beside its own', () => {
    const to = (chain: number, n: number, expires: number) => ({
      destination: 1,
      kind: 'queue' as const,
      posted: 1,
      messages: [on.message()],
      once: { chain, n, expires },
    });
    const { values, links } = batchOf([to(9, 4, 5), to(700, 2, 8), to(80, 3, 6)]);
    const sent = (['chain', 'link', 'latest'] as const).map((name) => values[parametersOf(links).indexOf(name)]);
    assert.deepEqual(sent, [[9, 80, 700], [4, 3, 2], 8]);
  });

  it('tell each posting what became of it', () => {
    const to = (destination: number, delayedUntil: number | null = null, chain?: number, rank = 5) => ({
      destination,
      kind: 'queue' as const,
      posted: 1,
      messages: [on.message({ delayedUntil }), { ...on.message(), rank }],
      ...(chain !== undefined && { once: { chain, n: 1, expires: 9 } }),
    });
    const postings = [to(1), to(2), to(1, 50, undefined, 3), to(1, null, 1, 0), to(3, null, 4), to(3)];
    const rowsWith = (used: string | null) => [1, 3].map((destination) => ({ there: destination, ord: 40, used }));
    const some = rowsWith('4,17');
    const outcomes = postOutcomes(postings, 'any', some);
    assert.deepEqual(outcomes, ['stored', 'no-destination', 'stored', 'once-used', 'stored', 'stored']);
    assert.deepEqual(
      [...readyByQueue(postings, outcomes, some)],
      [
        [1, { count: 3, lowest: { rank: 3, ord: 40 } }],
        [3, { count: 4, lowest: { rank: 5, ord: 40 } }],
      ],
    );
    assert.deepEqual(postOutcomes(postings, 'any', rowsWith(''))[4], 'once-used');
    assert.deepEqual(postOutcomes(postings, 'any', rowsWith(null))[3], 'stored');
    const all = [to(1, null, 1), to(2)];
    const stored = postOutcomes(all, 'next', [{ ord: 7 }]);
    assert.deepEqual(stored, ['stored', 'stored']);
    assert.deepEqual(readyByQueue(all, stored, [{ ord: 7 }]).get(2), { count: 2, lowest: { rank: 5, ord: 7 } });
  });

  it('hold postings of every kind side by side', async () => {
    const [queue, other, topic] = [await on.create('queue'), await on.create('queue'), await on.create('topic')];
    const [first, ...chains] = Array.from({ length: 5 }, () => ({ chain: store.nextId(), n: 1, expires: 9_000_000 }));
    const use = (once = first) => (once === undefined ? {} : { once });
    await on.post(queue, [on.message({ text: 'before' })], use());
    const outcomes = await Promise.all([
      on.post(queue, [on.message({ text: 'a' })]),
      on.post(queue, [on.message({ text: 'b' })], use()),
      on.post(queue, [on.message({ text: 'c' }), on.message({ text: 'd', volatile: true })]),
      on.post(queue, [on.message({ text: 'e', delayedUntil: 5_000 })], use(chains[0])),
      on.post(queue, [on.message({ text: 'f', contentType: null, expires: 8_000 })], use(chains[1])),
      on.post(other, [on.message({ text: 'g' })]),
      on.post(-1, [on.message({ text: 'h' })], use(chains[2])),
      on.post(topic, [on.message({ text: 'i' })], { kind: 'topic', ...use(chains[3]) }),
      on.post(topic, [on.message({ text: 'j' }), on.message({ text: 'k', volatile: true })], { kind: 'topic' }),
      on.post(topic, [on.message({ text: 'l' })], { kind: 'topic', ...use() }),
    ]);
    const toQueues = ['stored', 'once-used', 'stored', 'stored', 'stored', 'stored', 'no-destination'];
    assert.deepEqual(outcomes, [...toQueues, 'stored', 'stored', 'once-used']);
    const texts = async (destination: number) =>
      (await on.claim(destination, { max: 10, mode: 'consume' })).map(({ body }) => body.toString());
    assert.deepEqual(await texts(queue), ['before', 'a', 'c', 'd', 'f']);
    assert.deepEqual(await texts(other), ['g']);
    assert.equal((await on.stored(queue)).length, 6);
    // The link to a destination that is not there stays unused.
    assert.equal(await on.post(queue, [on.message()], use(chains[2])), 'stored');
    assert.equal((await on.stored(topic)).length, 3);
  });

  for (const kind of ['queue', 'topic'] as const) {
    it(`to a ${kind}: links that are used already spoil nothing for those beside them, and seldom make a batch run twice`, async () => {
      const destination = await on.create(kind);
      const gone = store.nextId();
      const chains = Array.from({ length: 8 }, () => store.nextId());
      const use = (chain: number | undefined, n: number, where = destination) =>
        on.post(where, [on.message()], { kind, once: { chain: chain ?? 0, n, expires: 9_000_000 } });
      await Promise.all(chains.map((chain) => use(chain, 1)));
      const [used, lost, ...honest] = chains;
      await use(used, 2);
      const rounds = 200;
      const before = traffic();
      for (let n = 2; n < rounds + 2; n++) {
        const outcomes = await Promise.all([use(used, 2), use(lost, 2, gone), ...honest.map((chain) => use(chain, n))]);
        assert.deepEqual(outcomes, ['once-used', 'no-destination', ...honest.map(() => 'stored')]);
      }
      const twice = traffic() - before - rounds;
      assert.ok(twice < rounds / 10, `${twice} of ${rounds} batches ran twice`);
      assert.equal((await on.stored(destination)).length, 9 + rounds * honest.length);
      // Neither the refused link nor the one to nowhere has moved its chain.
      assert.deepEqual(await Promise.all([use(used, 3), use(lost, 2), use(lost, 2)]), [
        'stored',
        'stored',
        'once-used',
      ]);
    });
  }

  it('go in one statement each time while all links are the next ones, and remember chains for longer', async () => {
    const queue = await on.create('queue');
    const chains = Array.from({ length: 5 }, () => store.nextId()).reverse();
    const use = (n: number) =>
      Promise.all(
        chains.map((chain, index) =>
          on.post(queue, [on.message()], { once: { chain, n, expires: 9_000 + n + index } }),
        ),
      );
    await use(1);
    // Other tests leave the links in doubt for a while.
    for (let n = 2; n < 140; n++) await use(n);
    const before = traffic();
    for (let n = 140; n < 150; n++) assert.deepEqual(new Set(await use(n)), new Set(['stored']));
    assert.equal(traffic() - before, 10);
    const rows = await store.read((tx) =>
      Promise.all(chains.map((chain) => tx.get('SELECT n, expires FROM once_chain WHERE chain = $1', [chain]))),
    );
    // As long as the one that is remembered longest: each for itself would have been looked at with care.
    assert.deepEqual(
      rows,
      chains.map(() => ({ n: 149, expires: 9_153 })),
    );
  });
});
