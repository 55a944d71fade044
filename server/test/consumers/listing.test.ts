import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import type { Answer } from '../../../testing/http.ts';
import { MOST_LOOKS } from '../../src/consumers/usecases/listing.ts';
import { timeOf } from '../../src/http/times.ts';
import { type ConsumerJson, clientOf, type EntitlementJson, openService, type Service } from './service.ts';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const DAY = 24 * 3_600_000;
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

type Page = { items: { id: string }[] };

forEachEngine('listings', (engine) => {
  let service: Service;
  let client: ReturnType<typeof clientOf>;
  before(async () => {
    service = await openService(engine);
    client = clientOf(service);
    service.clock.time = NOW;
  });
  after(() => service.close());

  /** Follows a relation to its end, doing something between the pages. */
  async function walk(
    path: string,
    rel: 'next' | 'prev',
    each: (page: Answer) => unknown = () => {},
  ): Promise<Answer[]> {
    const pages: Answer[] = [];
    for (let at: string | undefined = path; at !== undefined; ) {
      const page = client.expect(await client.get(at), 200);
      pages.push(page);
      at = page.links.find((link) => link.rel === rel)?.href;
      await each(page);
    }
    return pages;
  }
  const idsOf = (pages: Answer[]): string[] => pages.flatMap((page) => page.json<Page>().items.map(({ id }) => id));

  it('leave out what is terminated unless asked, forth and back, for every size of page', async () => {
    // Consumers without, with one, with many; terminated ones among them; entitlements terminated by themselves.
    const consumers: Answer[] = [];
    const expected: { id: string; consumer: number; state: string; product: string }[] = [];
    for (const i of range(12)) {
      const consumer = await client.consumer({ name: `c${i}` });
      consumers.push(consumer);
      for (const k of range([0, 1, 7, 2][i % 4] ?? 0)) {
        const product = `p${k}`;
        const period = k % 3 === 1 ? { end: timeOf(NOW + DAY) } : k % 3 === 2 ? { start: timeOf(NOW + 9 * DAY) } : {};
        const made = await client.grant(consumer, { product, ...period });
        const state = k % 3 === 1 ? 'expired' : k % 3 === 2 ? 'pending' : 'active';
        const isOver = (i + k) % 5 === 4;
        if (isOver) client.expect(await client.post(made.link('terminate')), 200);
        const { id } = made.json<EntitlementJson>();
        expected.push({ id, consumer: i, state: isOver || i % 3 === 2 ? 'terminated' : state, product });
      }
      if (i % 3 === 2) client.expect(await client.post(consumer.link('terminate')), 200);
    }
    service.clock.time = NOW + 2 * DAY;
    const filters: [query: string, keep: (one: (typeof expected)[number]) => boolean][] = [
      ['', ({ state }) => state !== 'terminated'],
      ['status=all', () => true],
      ...['active', 'pending', 'expired', 'terminated'].map((wanted): [string, (one: { state: string }) => boolean] => [
        `status=${wanted}`,
        ({ state }) => state === wanted,
      ]),
      ['product=p1', ({ state, product }) => state !== 'terminated' && product === 'p1'],
      ['product=p0&status=terminated', ({ state, product }) => state === 'terminated' && product === 'p0'],
    ];
    for (const [query, keep] of filters) {
      for (const size of [1, 4, 100]) {
        const forth = await walk(`/entitlements?${query}${query && '&'}per_page=${size}`, 'next');
        const wanted = expected.filter(keep).map(({ id }) => id);
        assert.deepEqual(idsOf(forth), wanted, `${query}, pages of ${size}`);
        const back = await walk((forth.at(-1) as Answer).link('self'), 'prev');
        assert.deepEqual(idsOf(back.reverse()), wanted, `${query}, pages of ${size}, backwards`);
      }
      for (const [i, consumer] of consumers.entries()) {
        const of = expected.filter((one) => one.consumer === i && keep(one)).map(({ id }) => id);
        const below = `${consumer.link('entitlements')}?${query}${query && '&'}per_page=2`;
        assert.deepEqual(idsOf(await walk(below, 'next')), of, `${query}, consumer ${i}`);
        const asked = `/entitlements?consumer=${consumer.json<ConsumerJson>().id}&${query}`;
        assert.deepEqual(idsOf(await walk(asked, 'next')), of);
      }
    }
    for (const [query, keep] of [
      ['', (i: number) => i % 3 !== 2],
      ['status=active', (i: number) => i % 3 !== 2],
      ['status=terminated', (i: number) => i % 3 === 2],
      ['status=all', () => true],
    ] as const) {
      const wanted = consumers.filter((_, i) => keep(i)).map((each) => each.json<ConsumerJson>().id);
      const forth = await walk(`/consumers?${query}&per_page=3`, 'next');
      assert.deepEqual(idsOf(forth), wanted, query);
      const back = await walk((forth.at(-1) as Answer).link('self'), 'prev');
      assert.deepEqual(idsOf(back.reverse()), wanted);
    }
  });

  it('give nothing twice and miss nothing that stayed, while others insert and terminate', async () => {
    const kept: string[] = [];
    const keptEntitlements: string[] = [];
    const doomed: Answer[] = [];
    for (const i of range(30)) {
      const consumer = await client.consumer({ name: `w${i}` });
      const granted = await Promise.all(range(3).map((k) => client.grant(consumer, `p${k}`)));
      if (i % 3 === 0) doomed.push(consumer);
      else {
        kept.push(consumer.json<ConsumerJson>().id);
        // One of its entitlements goes during the walk, two stay.
        doomed.push(granted[1] as Answer);
        keptEntitlements.push(...[0, 2].map((k) => (granted[k] as Answer).json<EntitlementJson>().id));
      }
    }
    for (const [path, staying] of [
      ['/consumers', kept],
      ['/entitlements', keptEntitlements],
    ] as const) {
      for (const rel of ['next', 'prev'] as const) {
        const start = rel === 'next' ? `${path}?per_page=7` : await lastPage(`${path}?per_page=7`);
        const pages = await walk(start, rel, async () => {
          const fresh = await client.consumer({ name: 'new' });
          await client.grant(fresh);
          const gone = doomed.pop();
          if (gone !== undefined) client.expect(await client.post(gone.link('terminate')), 200);
        });
        const ids = idsOf(pages);
        assert.equal(new Set(ids).size, ids.length, 'nothing twice');
        const missed = staying.filter((id) => !ids.includes(id));
        assert.deepEqual(missed, [], `${path} ${rel}`);
      }
    }
  });

  it('hold what stayed also when others change things in the middle of a page', { timeout: 120_000 }, async () => {
    const staying: Answer[] = [];
    const flapping: Answer[] = [];
    for (const i of range(24)) {
      const consumer = await client.consumer({ name: `s${i}` });
      const granted = await Promise.all(range(4).map((k) => client.grant(consumer, `p${k}`)));
      if (i % 2 === 0) staying.push(...granted.slice(0, 2));
      // Of the others whole consumers come and go, of these single entitlements.
      flapping.push(...(i % 2 === 0 ? granted.slice(2) : [consumer]));
    }
    let isOver = false;
    const writers = range(4).map(async (w) => {
      for (let turn = 0; !isOver; turn++) {
        const thing = flapping[(turn * 4 + w) % flapping.length] as Answer;
        await client.post(`${thing.link('self')}/${turn % 2 === 0 ? 'terminate' : 'reinstate'}`);
        // Not without end: the walk goes on as long as there is more behind it.
        if (turn % 5 === 0 && turn < 50) await client.grant(await client.consumer({ name: 'new' }));
      }
    });
    try {
      const wanted = staying.map((each) => each.json<EntitlementJson>().id);
      for (const size of [5, 40]) {
        for (const query of ['', '&status=active', '&status=all']) {
          const ids = idsOf(await walk(`/entitlements?per_page=${size}${query}`, 'next'));
          assert.equal(new Set(ids).size, ids.length, 'nothing twice');
          assert.deepEqual(
            wanted.filter((id) => !ids.includes(id)),
            [],
            `pages of ${size}${query}`,
          );
        }
      }
    } finally {
      isOver = true;
      await Promise.all(writers);
    }
  });

  async function lastPage(path: string): Promise<string> {
    return ((await walk(path, 'next')).at(-1) as Answer).link('self');
  }

  it('end a page after a bounded number of looks, and go on from there', async () => {
    const consumer = await client.consumer({ name: 'many' });
    const { id } = consumer.json<ConsumerJson>();
    const { n } = await service.area.consumers.get(id);
    const count = MOST_LOOKS + 700;
    // One after the other all expire but the last.
    await service.store.transaction(async (tx) => {
      await tx.run(
        `WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})
         INSERT INTO entitlement (n, id, consumer, product, quantity, starts, ends, marked, version, created, updated)
         SELECT 4000000000 + i, CAST(i AS TEXT), $1, 'm', 1, 0, CASE WHEN i < ${count} THEN 5 ELSE NULL END, 0, 1, 0, 0
         FROM numbers`,
        [n],
      );
      await tx.run('UPDATE consumer SET entitlements = $2 WHERE n = $1', [n, count]);
    });
    const pages = await walk(`/entitlements?product=m&status=active&per_page=10`, 'next');
    assert.deepEqual(idsOf(pages), [String(count)]);
    assert.deepEqual(
      pages.map((page) => page.json<Page>().items.length),
      [0, 1],
    );
    const back = await walk((pages[1] as Answer).link('self'), 'prev');
    assert.deepEqual(idsOf(back), [String(count)]);
    const whole = await walk(`${consumer.link('entitlements')}?per_page=1000`, 'next');
    assert.equal(new Set(idsOf(whole)).size, count);
    const all = idsOf(await walk('/entitlements?per_page=1000', 'next'));
    assert.equal(new Set(all).size, all.length);
    assert.equal(all.filter((each) => /^\d+$/.test(each)).length, count);
  });

  it('refuse cursors that were not given out, and sizes out of bounds', async () => {
    for (const path of ['/consumers', '/entitlements']) {
      for (const cursor of ['', 'x', '!!!', 'AAAA', Buffer.from('aXX').toString('base64url')]) {
        client.expect(await client.get(`${path}?cursor=${cursor}`), 400);
      }
      for (const size of ['0', '1001', 'many']) client.expect(await client.get(`${path}?per_page=${size}`), 400);
    }
    client.expect(await client.get('/consumers?status=pending'), 400);
  });
});
