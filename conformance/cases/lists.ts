import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Address, Answer } from '../client.ts';
import { expectProblem } from '../expect.ts';
import type { World } from '../world.ts';

const MOST_PAGES = 500;

type List = { items: { name: string }[] };

export function lists(world: World): void {
  const { client } = world;
  const namesOn = (answer: Answer): string[] => answer.json<List>().items.map(({ name }) => name);
  const stored = (answer: Answer, rel: string): Address | undefined =>
    answer.has(rel) ? client.store(answer.link(rel)) : undefined;

  /** Follows a relation from page to page. */
  async function walk(
    from: Address,
    rel: 'next' | 'prev',
    query: Record<string, number>,
    each: (page: Answer, number: number) => unknown = () => {},
  ): Promise<Answer[]> {
    const pages: Answer[] = [];
    let page = (await client.get(from, { query })).expect(200);
    for (;;) {
      pages.push(page);
      const next = stored(page, rel);
      await each(page, pages.length);
      if (next === undefined) return pages;
      if (pages.length >= MOST_PAGES) throw new Error(`more than ${MOST_PAGES} pages`);
      page = (await client.get(next)).expect(200);
    }
  }

  /** A size that takes several pages without taking too many when the service holds much already. */
  async function pageSize(collection: Address): Promise<number> {
    const all = (await walk(collection, 'next', { per_page: 1000 })).flatMap(namesOn).length;
    return Math.max(7, Math.ceil(all / 40));
  }

  async function many(count: number, hint = 'page'): Promise<string[]> {
    const made = Array.from({ length: count }, () => world.name(hint));
    await Promise.all(made.map(async (name) => (await client.put(await world.address('queue', name))).expect(201)));
    return made;
  }

  it('G11 following next visits every item once, in order', async () => {
    const made = await many(30);
    const queues = await world.link('queues');
    const per_page = await pageSize(queues);
    const pages = await walk(queues, 'next', { per_page });
    for (const page of pages.slice(0, -1)) assert.equal(namesOn(page).length, per_page);
    const visited = pages.flatMap(namesOn);
    assert.deepEqual(visited, [...visited].sort());
    assert.deepEqual(
      visited.filter((name) => made.includes(name)),
      made,
    );
  });

  it('G11 prev leads back over the same items', async () => {
    const made = await many(20);
    const queues = await world.link('queues');
    const forth = await walk(queues, 'next', { per_page: await pageSize(queues) });
    const last = forth.at(-1);
    assert.ok(last && forth.length > 1);
    const back = await walk(client.store(last.url), 'prev', {});
    const visited = back.reverse().flatMap(namesOn);
    assert.deepEqual(
      visited.filter((name) => made.includes(name)),
      made,
    );
  });

  it('G11 first leads to the first page from everywhere; there is no prev on it and no next on the last', async () => {
    await many(20);
    const queues = await world.link('queues');
    const pages = await walk(queues, 'next', { per_page: await pageSize(queues) });
    const [first, second] = pages;
    assert.ok(first && second);
    assert.ok(!first.has('prev'));
    assert.ok(second.has('prev'));
    assert.ok(!pages.at(-1)?.has('next'));
    const again = (await client.get(client.store(second.link('first')))).expect(200);
    assert.deepEqual(namesOn(again), namesOn(first));
  });

  it('G11 the links keep the size of the page, and self is the page itself', async () => {
    await many(10);
    const queues = await world.link('queues');
    const first = await client.get(queues, { query: { per_page: 4 } });
    const second = (await client.get(client.store(first.link('next')))).expect(200);
    assert.equal(namesOn(second).length, 4);
    const again = (await client.get(client.store(second.link('self')))).expect(200);
    assert.deepEqual(namesOn(again), namesOn(second));
  });

  it('G11 pages stay stable while items come and go between them', async () => {
    const made = await many(30, 'stable');
    const doomed = new Set(made.filter((_, i) => i % 5 === 0));
    const kept = made.filter((name) => !doomed.has(name));
    const queues = await world.link('queues');
    const per_page = await pageSize(queues);
    let added = 0;
    const pages = await walk(queues, 'next', { per_page }, async (page) => {
      const [behind] = namesOn(page).filter((name) => world.isOwn(name));
      // One that is already behind, at most one ahead, and one new before and after the place we are at.
      const gone = [...doomed].slice(0, 2);
      for (const name of gone) {
        doomed.delete(name);
        (await client.delete(await world.address('queue', name))).expect(204);
      }
      if (behind !== undefined && added++ < 5) {
        (await client.put(await world.address('queue', `${behind}-after`))).expect(201);
        (await client.put(await world.address('queue', `${behind.slice(0, -1)}`))).expect(200, 201);
      }
    });
    const visited = pages.flatMap(namesOn);
    assert.equal(new Set(visited).size, visited.length, 'nothing comes twice');
    assert.deepEqual(
      visited.filter((name) => kept.includes(name)),
      kept,
      'what stayed was met once',
    );
  });

  it('G11 a cursor works after the item it stands on was deleted', async () => {
    const made = await many(6, 'cursor');
    const queues = await world.link('queues');
    let next: Address | undefined;
    let deleted: string | undefined;
    await walk(queues, 'next', { per_page: 2 }, async (page) => {
      const last = namesOn(page).at(-1);
      if (next !== undefined || last === undefined || !made.slice(0, -2).includes(last)) return;
      next = stored(page, 'next');
      deleted = last;
      (await client.delete(await world.address('queue', last))).expect(204);
    });
    assert.ok(next !== undefined && deleted !== undefined);
    const [following] = namesOn((await client.get(next)).expect(200));
    assert.equal(following, made[made.indexOf(deleted) + 1]);
  });

  it('G11 per_page is 100 unless told, 1 to 1000, else 400', async () => {
    for (const collection of [await world.link('queues'), await world.link('topics')]) {
      for (const per_page of [1, 2, 1000]) {
        const answer = (await client.get(collection, { query: { per_page } })).expect(200);
        assert.ok(namesOn(answer).length <= per_page);
      }
      for (const per_page of ['0', '1001', '-1', '1.5', 'many', '', '1e2', '٣', ' 5']) {
        expectProblem(await client.get(collection, { query: { per_page } }), 400);
      }
    }
  });

  it('G11 without per_page a page has at most 100 items', async () => {
    await many(101, 'hundred');
    const answer = (await client.get(await world.link('queues'))).expect(200);
    assert.equal(namesOn(answer).length, 100);
    assert.ok(answer.has('next'));
  });

  it('G11 a cursor that was not handed out is 400', async () => {
    const queues = await world.link('queues');
    for (const cursor of ['', 'x', '!!!', 'AAAA']) {
      expectProblem(await client.get(queues, { query: { cursor } }), 400);
    }
  });

  it('G11 topics are listed page by page, too', async () => {
    const made = [await world.topic(), await world.topic(), await world.topic()].map(({ name }) => name);
    const topics = await world.link('topics');
    const per_page = Math.max(2, Math.ceil((await pageSize(topics)) / 4));
    const visited = (await walk(topics, 'next', { per_page })).flatMap(namesOn);
    assert.deepEqual(
      visited.filter((name) => made.includes(name)),
      made,
    );
  });
}
