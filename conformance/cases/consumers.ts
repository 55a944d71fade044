import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import type { Answer } from '../client.ts';
import {
  AS_JSON,
  consumerOf,
  consumerWorld,
  entitlementOf,
  JSON_TYPE,
  versionIn,
  XML_TYPE,
} from '../consumer-world.ts';
import { allowed, expectAbsolute, expectProblem, expectTime, lastingFields, mediaType } from '../expect.ts';
import { contentOfJson, contentOfXml } from '../twins.ts';
import type { World } from '../world.ts';
import { ATOM, childText, escapeXml } from '../xml.ts';

export function consumers(world: World): void {
  const { client } = world;
  const { post, read, again, follow, consumer, grant, list } = consumerWorld(world);
  const isListed = async (answer: Answer, query: Record<string, string> = {}): Promise<boolean> =>
    (await list(await world.link('consumers'), { per_page: 1000, ...query })).some(
      ({ id }) => id === consumerOf(answer).id,
    );

  it('C1 to C5 the life of a consumer, by links alone', async () => {
    const name = world.name('life');
    const body = `<consumer><name>${escapeXml(name)}</name></consumer>`;
    const made = (await client.post(await world.link('consumers'), { headers: XML_TYPE, body })).expect(201);
    expectAbsolute(made.headers.location, 'Location');
    assert.ok(made.headers.etag);
    const self = client.store(made.headers.location);
    const first = (await client.get(self)).expect(200);
    assert.equal(mediaType(first), 'application/xml');
    const root = first.xml();
    assert.equal(root.name, 'consumer');
    assert.equal(root.namespace, '');
    assert.equal(childText(root, 'name'), name);
    const links = root.children.filter((child) => child.name === 'link' && child.namespace === ATOM);
    assert.deepEqual(links.map(({ attributes }) => attributes.rel).sort(), ['entitlements', 'self', 'terminate']);

    const granted = (
      await client.post(client.store(first.link('entitlements')), {
        headers: XML_TYPE,
        body: '<entitlement><product>atlas</product></entitlement>',
      })
    ).expect(201);
    const asJson = (await read(self)).expect(200);
    assert.ok(await isListed(asJson));
    assert.equal((await list(first.link('entitlements'))).length, 1);

    const ended = (await client.post(client.store(first.link('terminate')))).expect(200);
    assert.ok(!ended.has('terminate') && ended.has('reinstate'));
    assert.equal(entitlementOf(await again(granted)).state, 'terminated');
    assert.deepEqual(await list(first.link('entitlements')), []);
    assert.ok(!(await isListed(asJson)));
    assert.ok(await isListed(asJson, { status: 'terminated' }));
    assert.ok(await isListed(asJson, { status: 'all' }));
    const still = (await client.get(self)).expect(200);
    assert.ok(!still.has('terminate') && still.has('reinstate'));
    assert.equal(childText(still.xml(), 'state'), 'terminated');

    const back = (await client.post(client.store(still.link('reinstate')))).expect(200);
    assert.ok(back.has('terminate') && !back.has('reinstate'));
    assert.equal(entitlementOf(await again(granted)).state, 'active');
    assert.ok(await isListed(asJson));
  });

  it('C1 a consumer has its fields, in XML and JSON alike, and the same on every node', async () => {
    const key = world.name('key');
    const made = await consumer({ 'external-key': key, metadata: { plan: 'gold', note: '<&>"\'' } });
    await grant(made);
    (await follow(made, 'terminate', { reason: 'moved & gone' })).expect(200);
    for (const base of client.bases) {
      const address = base + client.store(made.link('self'));
      const json = (await client.get(address, { headers: AS_JSON })).expect(200);
      const xml = (await client.get(address)).expect(200);
      assert.deepEqual(contentOfXml(xml.xml()), contentOfJson(json.json()));
      assert.notEqual(xml.headers.etag, json.headers.etag);
      const document = consumerOf(json);
      assert.equal(document.state, 'terminated');
      assert.equal(document['external-key'], key);
      assert.equal(document['entitlement-count'], 1);
      assert.equal(document.terminated?.reason, 'moved & gone');
      for (const time of [document.created, document.updated, document.terminated?.at]) expectTime(time, 'a time');
      assert.deepEqual(lastingFields(await client.head(address)), lastingFields(xml));
    }
  });

  it('C3 an id or an external key that is taken is 409 with a link', async () => {
    const id = randomUUID();
    const key = world.name('key');
    const made = await consumer({ id, 'external-key': key });
    assert.equal(consumerOf(made).id, id);
    for (const body of [{ id }, { 'external-key': key }]) {
      const refused = await post(await world.link('consumers'), { name: world.name(), ...body });
      expectProblem(refused, 409);
      assert.ok(refused.links.some(({ href }) => client.store(href) === client.store(made.link('self'))));
    }
  });

  it('C3 of many who create the same consumer one gets 201 and the others 409', async () => {
    const id = randomUUID();
    const collection = await world.link('consumers');
    const racing = Array.from({ length: 8 }, () => post(collection, { id, name: world.name() }));
    const statuses = (await Promise.all(racing)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, ...Array(7).fill(409)]);
  });

  it('C1 what is wrong is 422 and tells where', async () => {
    const collection = await world.link('consumers');
    const wrong = [
      {},
      { name: '' },
      { name: 'x'.repeat(256) },
      { name: 'x', id: 'me' },
      { name: 'x', metadata: { 'a b': 'c' } },
    ];
    for (const body of wrong) {
      const { errors } = expectProblem(await post(collection, body), 422);
      assert.ok(errors?.[0]?.pointer, JSON.stringify(body));
    }
    expectProblem(await client.post(collection, { headers: XML_TYPE, body: '<consumer>' }), 400);
    expectProblem(await client.post(collection, { headers: JSON_TYPE, body: '{' }), 400);
    expectProblem(await client.post(collection, { headers: { 'content-type': 'image/png' }, body: 'x' }), 415);
  });

  it('C4 terminating again is 200 and changes nothing, or 409 when strictness is wanted', async () => {
    const made = await consumer();
    const form = { 'content-type': 'application/x-www-form-urlencoded', ...AS_JSON };
    const target = client.store(made.link('terminate'));
    const first = (await client.post(target, { headers: form, body: 'reason=unpaid' })).expect(200);
    assert.equal(consumerOf(first).terminated?.reason, 'unpaid');
    const second = (await post(target, { reason: 'other' })).expect(200);
    assert.deepEqual(consumerOf(second).terminated, consumerOf(first).terminated);
    assert.equal(versionIn(second), versionIn(first));
    expectProblem(await post(target, {}, { prefer: 'handling=strict' }), 409);
    const xml = { headers: { ...XML_TYPE, ...AS_JSON }, body: '<termination><reason>by XML</reason></termination>' };
    (await follow(second, 'reinstate')).expect(200);
    const third = (await client.post(target, xml)).expect(200);
    assert.equal(consumerOf(third).terminated?.reason, 'by XML');
  });

  it('C6 an update changes what is given and keeps the rest', async () => {
    const made = await consumer({ metadata: { a: '1' } });
    const changed = (await post(client.store(made.link('self')), { metadata: { b: '2' } })).expect(200);
    assert.equal(consumerOf(changed).name, consumerOf(made).name);
    assert.deepEqual(consumerOf(changed).metadata, { b: '2' });
    assert.notEqual(versionIn(changed), versionIn(made));
    assert.deepEqual(consumerOf(await again(made)).metadata, { b: '2' });
  });

  it('C6 a document that was fetched and sent back is taken, and nothing changes', async () => {
    const made = await consumer({ metadata: { a: '<1>' }, 'external-key': world.name('key') });
    await grant(made);
    for (const rel of ['terminate', 'reinstate']) {
      for (const type of ['application/xml', 'application/json']) {
        const self = client.store(made.link('self'));
        const fetched = await client.get(self, { headers: { accept: type } });
        const headers = { 'content-type': type, accept: type };
        const sent = (await client.post(self, { headers, body: fetched.body })).expect(200);
        assert.equal(versionIn(sent), versionIn(fetched), type);
      }
      (await follow(await again(made), rel)).expect(200);
    }
  });

  it('C6 another id or state in an update is 422 with the link to follow', async () => {
    const made = await consumer();
    const self = client.store(made.link('self'));
    expectProblem(await post(self, { id: randomUUID() }), 422);
    const refused = await post(self, { state: 'terminated' });
    expectProblem(refused, 422);
    assert.equal(client.store(refused.link('terminate')), client.store(made.link('terminate')));
    assert.equal(consumerOf(await again(made)).state, 'active');
  });

  it('C7 DELETE is 405 with a link to terminate, and nothing changes', async () => {
    const made = await consumer();
    const before = await again(made);
    const refused = await client.delete(client.store(made.link('self')));
    expectProblem(refused, 405);
    assert.ok(!allowed(refused).includes('DELETE'));
    assert.equal(client.store(refused.link('terminate')), client.store(made.link('terminate')));
    assert.equal(versionIn(await again(made)), versionIn(before));
    assert.ok(await isListed(made));
  });

  it('G9 If-Match compares the version', async () => {
    const made = await consumer();
    const self = client.store(made.link('self'));
    const changed = (await post(self, { name: world.name() }, { 'if-match': made.headers.etag ?? '' })).expect(200);
    expectProblem(await post(self, { name: world.name() }, { 'if-match': made.headers.etag ?? '' }), 412);
    expectProblem(await post(client.store(made.link('terminate')), {}, { 'if-match': made.headers.etag ?? '' }), 412);
    const inXml = (await client.get(self)).headers.etag ?? '';
    assert.notEqual(inXml, changed.headers.etag);
    (await post(client.store(made.link('terminate')), {}, { 'if-match': inXml })).expect(200);
  });

  it('G11 following next visits every consumer once, also while others come and go', async () => {
    const made: Answer[] = [];
    for (let i = 0; i < 12; i++) made.push(await consumer());
    const staying = made.filter((_, i) => i % 3 !== 0).map((each) => consumerOf(each).id);
    const leaving = made.filter((_, i) => i % 3 === 0);
    const collection = await world.link('consumers');
    const all = await list(collection, { per_page: 1000 });
    const per_page = Math.max(3, Math.ceil(all.length / 30));
    const seen: string[] = [];
    let page = await client.get(collection, { headers: AS_JSON, query: { per_page } });
    for (;;) {
      seen.push(
        ...page
          .expect(200)
          .json<{ items: { id: string }[] }>()
          .items.map(({ id }) => id),
      );
      if (!page.has('next')) break;
      const next = client.store(page.link('next'));
      const gone = leaving.pop();
      if (gone !== undefined) {
        (await follow(gone, 'terminate')).expect(200);
        await consumer();
      }
      page = await client.get(next, { headers: AS_JSON });
    }
    assert.equal(new Set(seen).size, seen.length);
    assert.deepEqual(seen.filter((id) => staying.includes(id)).sort(), [...staying].sort());
  });
}
