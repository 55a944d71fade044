import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer } from '../client.ts';
import { AS_JSON, consumerOf, consumerWorld, entitlementOf, versionIn } from '../consumer-world.ts';
import { expectProblem, expectTime, mediaType } from '../expect.ts';
import { contentOfJson, contentOfXml } from '../twins.ts';
import type { World } from '../world.ts';

const DAY = 24 * 3_600_000;
const later = (days: number): string => new Date(Date.now() + days * DAY).toISOString();

export function entitlements(world: World): void {
  const { client } = world;
  const { post, again, follow, consumer, grant, list, read, uriOf } = consumerWorld(world);
  const rels = (answer: Answer): string[] => answer.links.map(({ rel }) => rel).sort();

  it('C2 an entitlement has its fields, in XML and JSON alike', async () => {
    const owner = await consumer();
    const made = await grant(owner, { product: { id: 'p1', name: 'One' }, quantity: 3, end: later(1) });
    assert.deepEqual(rels(made), ['consumer', 'self', 'terminate']);
    const document = entitlementOf(made);
    assert.equal(document.state, 'active');
    assert.equal(document.consumer, consumerOf(owner).id);
    assert.deepEqual(document.product, { id: 'p1', name: 'One' });
    assert.equal(document.quantity, 3);
    expectTime(document.start, 'start');
    expectTime(document.end, 'end');
    const xml = (await client.get(uriOf(made))).expect(200);
    assert.equal(mediaType(xml), 'application/xml');
    assert.deepEqual(
      contentOfXml(xml.xml()),
      contentOfJson((await client.get(uriOf(made), { headers: AS_JSON })).json()),
    );
    assert.equal(client.store(made.link('consumer')), client.store(owner.link('self')));
    assert.equal(entitlementOf(await grant(owner, 'plain')).quantity, 1);
  });

  it('C3 an entitlement can be made in the collection, too', async () => {
    const owner = await consumer();
    const collection = await world.link('entitlements');
    for (const [product, named] of [
      ['a', consumerOf(owner).id],
      ['b', uriOf(owner)],
    ]) {
      const made = (await post(`${client.bases[0]}${collection}`, { consumer: named, product })).expect(201);
      assert.equal(client.store(made.link('consumer')), client.store(owner.link('self')));
    }
    assert.equal((await list(owner.link('entitlements'))).length, 2);
    expectProblem(await post(collection, { product: 'c' }), 422);
  });

  it('C3 a second one for the same product is 409 with a link to the first, as long as that stands', async () => {
    const owner = await consumer();
    const first = await grant(owner, 'p');
    const refused = await post(client.store(owner.link('entitlements')), { product: 'p' });
    expectProblem(refused, 409);
    assert.ok(refused.links.some(({ href }) => client.store(href) === client.store(first.link('self'))));
    const ended = (await follow(first, 'terminate')).expect(200);
    const second = await grant(owner, 'p');
    expectProblem(await follow(ended, 'reinstate'), 409);
    (await follow(second, 'terminate')).expect(200);
    (await follow(ended, 'reinstate')).expect(200);
  });

  it('C3 of many who grant the same product one gets 201, the others 409', async () => {
    const owner = await consumer();
    const target = client.store(owner.link('entitlements'));
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(target, { product: 'p' })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(9).fill(409)]);
    assert.equal(consumerOf(await again(owner))['entitlement-count'], 1);
  });

  it('C3 a terminated consumer is granted nothing: 409 with its reinstate link', async () => {
    const owner = await consumer();
    const ended = (await follow(owner, 'terminate')).expect(200);
    const refused = await post(client.store(owner.link('entitlements')), { product: 'p' });
    expectProblem(refused, 409);
    assert.equal(client.store(refused.link('reinstate')), client.store(ended.link('reinstate')));
  });

  it('C4 reinstating a consumer brings back exactly what its termination hid', async () => {
    const owner = await consumer();
    const standing = await grant(owner, 'standing');
    const pending = await grant(owner, { product: 'pending', start: later(1) });
    const expired = await grant(owner, { product: 'expired', start: later(-2), end: later(-1) });
    const own = (await follow(await grant(owner, 'own'), 'terminate', { reason: 'mine' })).expect(200);
    const states = async (): Promise<string[]> =>
      Promise.all(
        [standing, pending, expired, own].map(async (each) => {
          const { state, terminated } = entitlementOf(await again(each));
          return `${state} ${terminated?.cause ?? ''}`.trim();
        }),
      );
    const before = ['active', 'pending', 'expired', 'terminated entitlement'];
    assert.deepEqual(await states(), before);
    const ended = (await follow(owner, 'terminate')).expect(200);
    const hidden = 'terminated consumer';
    assert.deepEqual(await states(), [hidden, hidden, hidden, 'terminated entitlement']);
    assert.deepEqual(rels(await again(standing)), ['consumer', 'self']);
    (await follow(ended, 'reinstate')).expect(200);
    assert.deepEqual(await states(), before);
  });

  it('C5 listings leave out terminated ones and take a status', async () => {
    const owner = await consumer();
    const active = await grant(owner, 'active');
    const pending = await grant(owner, { product: 'pending', start: later(1) });
    const ended = (await follow(await grant(owner, 'ended'), 'terminate')).expect(200);
    const ids = (...answers: Answer[]): string[] => answers.map((each) => entitlementOf(each).id).sort();
    const found = async (query: Record<string, string>): Promise<string[]> => {
      const below = await list(owner.link('entitlements'), query);
      const asked = await list(await world.link('entitlements'), { consumer: consumerOf(owner).id, ...query });
      assert.deepEqual(
        below.map(({ id }) => id),
        asked.map(({ id }) => id),
      );
      return below.map(({ id }) => id).sort();
    };
    assert.deepEqual(await found({}), ids(active, pending));
    assert.deepEqual(await found({ status: 'all' }), ids(active, pending, ended));
    assert.deepEqual(await found({ status: 'active' }), ids(active));
    assert.deepEqual(await found({ status: 'pending' }), ids(pending));
    assert.deepEqual(await found({ status: 'terminated' }), ids(ended));
    assert.deepEqual(await found({ status: 'expired' }), []);
    assert.deepEqual(await found({ product: 'pending' }), ids(pending));
    assert.deepEqual(await found({ status: 'active', at: later(2) }), ids(active, pending));
    const collection = await world.link('entitlements');
    for (const query of [{ status: 'gone' }, { at: 'soon' }, { consumer: 'nobody' }] as Record<string, string>[]) {
      expectProblem(await client.get(collection, { query }), 400);
    }
  });

  it('C5 page by page, every entitlement comes once', async () => {
    const owner = await consumer();
    const made: string[] = [];
    for (let i = 0; i < 7; i++) made.push(entitlementOf(await grant(owner, `p${i}`)).id);
    const paged = await list(owner.link('entitlements'), { per_page: 2 });
    assert.deepEqual(
      paged.map(({ id }) => id),
      (await list(owner.link('entitlements'))).map(({ id }) => id),
    );
    assert.deepEqual(paged.map(({ id }) => id).sort(), [...made].sort());
    const all = await list(await world.link('entitlements'), { per_page: 1000 });
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
    for (const id of made) assert.ok(all.some((each) => each.id === id));
  });

  it('C6 an entitlement is updated like a consumer, and its document is taken back', async () => {
    const owner = await consumer();
    const made = await grant(owner, { product: 'p', end: later(1) });
    const self = client.store(made.link('self'));
    const changed = (await post(self, { quantity: 7 })).expect(200);
    assert.deepEqual([entitlementOf(changed).quantity, entitlementOf(changed).end], [7, entitlementOf(made).end]);
    for (const type of ['application/xml', 'application/json']) {
      const fetched = await client.get(self, { headers: { accept: type } });
      const headers = { 'content-type': type, accept: type };
      const sent = (await client.post(self, { headers, body: fetched.body })).expect(200);
      assert.equal(versionIn(sent), versionIn(fetched), type);
    }
    const refused = await post(self, { state: 'terminated' });
    expectProblem(refused, 422);
    assert.equal(client.store(refused.link('terminate')), client.store(made.link('terminate')));
    expectProblem(await post(self, { quantity: 1 }, { 'if-match': made.headers.etag ?? '' }), 412);
    expectProblem(await client.delete(self), 405);
    assert.equal(versionIn((await read(self)).expect(200)), versionIn(changed));
  });
}
