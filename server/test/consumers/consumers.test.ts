import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import type { Answer } from '../../../testing/http.ts';
import { parseXml } from '../../src/http/xml.ts';
import {
  ACCEPT_JSON,
  type ConsumerJson,
  clientOf,
  type EntitlementJson,
  FORM,
  JSON_TYPE,
  openService,
  type Service,
  XML,
} from './service.ts';

const relsOf = (answer: Answer): string[] => answer.links.map(({ rel }) => rel);

forEachEngine('consumers', (engine) => {
  let service: Service;
  let client: ReturnType<typeof clientOf>;
  before(async () => {
    service = await openService(engine);
    client = clientOf(service);
  });
  after(() => service.close());

  it('lives the life of the seed in XML: created, terminated, reinstated, all by links', async () => {
    const body = '<consumer><name>Grace</name></consumer>';
    const made = await service.send('/consumers', { method: 'POST', headers: XML, body });
    assert.equal(made.status, 201);
    assert.equal(made.headers['content-type'], 'application/xml');
    assert.equal(made.headers.location, made.link('self'));
    const read = await service.send(made.link('self'));
    assert.equal(read.text(), made.text());
    assert.equal(read.headers.etag, made.headers.etag);
    const root = parseXml(read.text());
    assert.equal(root.name, 'consumer');
    assert.match(root.attributes.id ?? '', /^[0-9a-f-]{36}$/);
    assert.equal(root.children.find(({ name }) => name === 'name')?.text, 'Grace');
    const linkElements = root.children.filter(({ name }) => name === 'link');
    assert.ok(linkElements.every(({ namespace }) => namespace === 'http://www.w3.org/2005/Atom'));
    assert.deepEqual(
      linkElements.map(({ attributes }) => [attributes.rel, attributes.href]),
      read.links.map(({ rel, href }) => [rel, href]),
    );
    assert.deepEqual(relsOf(read), ['self', 'entitlements', 'terminate']);

    const ended = await service.send(made.link('terminate'), { method: 'POST' });
    assert.equal(ended.status, 200);
    assert.deepEqual(relsOf(ended), ['self', 'entitlements', 'reinstate']);
    assert.equal((await service.send(made.link('self'))).text(), ended.text());
    const back = await service.send(ended.link('reinstate'), { method: 'POST' });
    assert.deepEqual(relsOf(back), ['self', 'entitlements', 'terminate']);
  });

  it('says the same in JSON as in XML', async () => {
    const made = await client.consumer({
      name: 'Twin',
      'external-key': randomUUID(),
      metadata: { a: 'x <&> "y"', b: '' },
    });
    await client.grant(made);
    client.expect(await client.post(made.link('terminate'), { reason: 'moved' }), 200);
    const json = (await client.get(made.link('self'))).json<Record<string, unknown>>();
    const xml = parseXml((await service.send(made.link('self'))).text());
    const texts = (element: ReturnType<typeof parseXml>): unknown =>
      element.children.length === 0
        ? element.text
        : Object.fromEntries(element.children.map((child) => [child.name, texts(child)]));
    const { link: _, ...fields } = texts(xml) as Record<string, unknown>;
    const { links: __, ...expected } = json;
    assert.deepEqual({ ...xml.attributes, ...fields, 'entitlement-count': 1 }, expected);
  });

  it('takes an id of the client’s choice once', async () => {
    const id = randomUUID().toUpperCase();
    const made = await client.consumer({ id, name: 'Ada' });
    assert.equal(made.json<ConsumerJson>().id, id.toLowerCase());
    const again = client.expect(await client.post('/consumers', { id, name: 'Eve' }), 409);
    assert.equal(again.link('about'), made.link('self'));
    assert.equal((await client.get(made.link('self'))).json<ConsumerJson>().name, 'Ada');
  });

  it('keeps external keys unique, lets them go, and finds by them', async () => {
    const key = `key ${randomUUID()}`;
    const one = await client.consumer({ name: 'one', 'external-key': key });
    const refused = client.expect(await client.post('/consumers', { name: 'two', 'external-key': key }), 409);
    assert.equal(refused.link('about'), one.link('self'));
    const two = await client.consumer({ name: 'two' });
    client.expect(await client.post(two.link('self'), { 'external-key': key }), 409);
    const found = await client.all<ConsumerJson>(`/consumers?external-key=${encodeURIComponent(key)}`);
    assert.deepEqual(
      found.map(({ name }) => name),
      ['one'],
    );
    client.expect(await client.post(one.link('self'), { 'external-key': null }), 200);
    client.expect(await client.post(two.link('self'), { 'external-key': key }), 200);
    assert.equal((await client.get(one.link('self'))).json<ConsumerJson>()['external-key'], undefined);
  });

  it('refuses what is wrong with 422 and says where, or 400 when it cannot be read', async () => {
    const wrong: [object, string][] = [
      [{}, '/name'],
      [{ name: '' }, '/name'],
      [{ name: 'x'.repeat(256) }, '/name'],
      [{ name: 7 }, '/name'],
      [{ name: 'a\0b' }, '/name'],
      [{ name: 'x', id: 'no uuid' }, '/id'],
      [{ name: 'x', state: 'terminated' }, '/state'],
      [{ name: 'x', metadata: { '1x': 'y' } }, '/metadata/1x'],
      [{ name: 'x', metadata: { link: 'y' } }, '/metadata/link'],
      [{ name: 'x', metadata: { y: 1 } }, '/metadata/y'],
      [{ name: 'x', metadata: 'text' }, '/metadata'],
      [{ name: 'x', nmae: 'y' }, '/nmae'],
    ];
    for (const [body, pointer] of wrong) {
      const answer = client.expect(await client.post('/consumers', body), 422);
      const { errors } = answer.json<{ errors: { pointer: string }[] }>();
      assert.deepEqual(
        errors.map((error) => error.pointer),
        [pointer],
        JSON.stringify(body),
      );
    }
    const send = (headers: Record<string, string>, body: string) =>
      service.send('/consumers', { method: 'POST', headers, body });
    assert.equal((await send(JSON_TYPE, '{')).status, 400);
    assert.equal((await send(XML, '<consumer>')).status, 400);
    assert.equal((await send(XML, '<!DOCTYPE a><consumer><name>x</name></consumer>')).status, 400);
    assert.equal((await send(XML, '<customer><name>x</name></customer>')).status, 422);
    const unknown = await send({ 'content-type': 'text/csv' }, 'x');
    assert.equal(unknown.status, 415);
    assert.match(unknown.headers['accept-post'] ?? '', /application\/xml/);
    assert.equal((await send({}, 'x')).status, 415);
    assert.equal((await service.send('/consumers', { headers: { accept: 'image/png' } })).status, 406);
  });

  it('answers 404 for what never was', async () => {
    for (const path of ['/consumers/x', `/consumers/${randomUUID()}`, `/entitlements/${randomUUID()}`]) {
      client.expect(await client.get(path), 404);
      client.expect(await client.post(path), 404);
      client.expect(await client.post(`${path}/terminate`), 404);
      client.expect(await client.post(`${path}/reinstate`), 404);
      assert.equal((await service.send(path, { method: 'DELETE' })).status, 404);
    }
    client.expect(await client.get(`/consumers/${randomUUID()}/entitlements`), 404);
    client.expect(await client.post(`/consumers/${randomUUID()}/entitlements`, { product: 'p' }), 404);
    assert.deepEqual(await client.all(`/entitlements?consumer=${randomUUID()}`), []);
  });

  it('updates what is given, leaves what is not, and never changes a state', async () => {
    const made = await client.consumer({ name: 'Old', 'external-key': randomUUID(), metadata: { a: '1' } });
    const { 'external-key': key } = made.json<ConsumerJson>();
    const renamed = client.expect(await client.post(made.link('self'), { name: ' New ' }), 200).json<ConsumerJson>();
    assert.deepEqual([renamed.name, renamed['external-key'], renamed.metadata], ['New', key, { a: '1' }]);
    const other = (await client.post(made.link('self'), { metadata: { b: '2' } })).json<ConsumerJson>();
    assert.deepEqual(other.metadata, { b: '2' });
    const cleared = (await client.post(made.link('self'), { metadata: {} })).json<ConsumerJson>();
    assert.equal(cleared.metadata, undefined);
    const ended = client.expect(await client.post(made.link('self'), { state: 'terminated' }), 422);
    assert.equal(ended.link('terminate'), made.link('terminate'));
    const moved = client.expect(await client.post(made.link('self'), { id: randomUUID() }), 422);
    assert.equal(moved.link('self'), made.link('self'));
    assert.equal((await client.get(made.link('self'))).json<ConsumerJson>().state, 'active');
    client.expect(await client.post(made.link('terminate')), 200);
    const back = client.expect(await client.post(made.link('self'), { state: 'active' }), 422);
    assert.ok(back.link('reinstate'));
    // A terminated one can still be corrected.
    assert.equal((await client.post(made.link('self'), { name: 'Late' })).json<ConsumerJson>().name, 'Late');
  });

  it('takes a fetched document back in either form, and that changes nothing', async () => {
    const made = await client.consumer({ name: 'Round & <trip>', metadata: { plan: 'gold "x"' } });
    const granted = await client.grant(made, {
      product: { id: 'p 1', name: 'One' },
      quantity: 3,
      end: '2999-01-01T00:00:00Z',
    });
    const before = (await service.events()).length;
    for (const state of ['active', 'terminated']) {
      if (state === 'terminated') client.expect(await client.post(made.link('terminate'), { reason: 'x' }), 200);
      for (const path of [made.link('self'), granted.link('self')]) {
        for (const type of ['application/xml', 'application/json']) {
          const fetched = await service.send(path, { headers: { accept: type } });
          const options = { method: 'POST', headers: { 'content-type': type, accept: type }, body: fetched.body };
          const sent = client.expect(await service.send(path, options), 200);
          assert.equal(sent.text(), fetched.text());
          assert.equal(sent.headers.etag, fetched.headers.etag);
        }
      }
    }
    assert.deepEqual(
      (await service.events()).slice(before).map(({ type }) => type),
      ['consumer.terminated'],
    );
  });

  it('compares If-Match with the version, whatever the representation', async () => {
    const made = await client.consumer();
    const old = { 'if-match': made.headers.etag ?? '' };
    const inXml = (await service.send(made.link('self'))).headers.etag ?? '';
    assert.notEqual(inXml, made.headers.etag);
    const changed = client.expect(await client.post(made.link('self'), { name: 'B' }, { 'if-match': inXml }), 200);
    client.expect(await client.post(made.link('self'), { name: 'C' }, old), 412);
    client.expect(await client.post(made.link('terminate'), {}, old), 412);
    const ended = client.expect(
      await client.post(made.link('terminate'), {}, { 'if-match': changed.headers.etag ?? '' }),
      200,
    );
    client.expect(await client.post(ended.link('reinstate'), {}, old), 412);
    const present = await client.get(made.link('self'));
    assert.deepEqual([present.json<ConsumerJson>().name, present.json<ConsumerJson>().state], ['B', 'terminated']);
    const cached = await service.send(made.link('self'), {
      headers: { ...ACCEPT_JSON, 'if-none-match': present.headers.etag ?? '' },
    });
    assert.equal(cached.status, 304);
  });

  it('terminates again without a change, or 409 when that is wanted', async () => {
    const made = await client.consumer();
    const body = 'reason=moved+away';
    const first = await service.send(made.link('terminate'), {
      method: 'POST',
      headers: { ...FORM, ...ACCEPT_JSON },
      body,
    });
    assert.equal(first.json<ConsumerJson>().terminated?.reason, 'moved away');
    const again = client.expect(await client.post(made.link('terminate'), { reason: 'other' }), 200);
    assert.equal(again.text(), first.text());
    const strict = { prefer: 'handling=strict' };
    const refused = client.expect(await client.post(made.link('terminate'), {}, strict), 409);
    assert.ok(refused.link('reinstate'));
    const back = client.expect(await client.post(again.link('reinstate'), {}, strict), 200);
    assert.equal(back.headers['preference-applied'], 'handling=strict');
    assert.equal(back.json<ConsumerJson>().terminated, undefined);
    client.expect(await client.post(again.link('reinstate')), 200);
    client.expect(await client.post(again.link('reinstate'), {}, strict), 409);
    const xml = '<termination><reason>by XML</reason></termination>';
    const byXml = await service.send(made.link('terminate'), {
      method: 'POST',
      headers: { ...XML, ...ACCEPT_JSON },
      body: xml,
    });
    assert.equal(byXml.json<ConsumerJson>().terminated?.reason, 'by XML');
    client.expect(await client.post(made.link('terminate'), { reason: 'x'.repeat(1001) }), 422);
  });

  it('answers without content when the client wants it so', async () => {
    const minimal = { prefer: 'return=minimal' };
    const made = client.expect(await client.post('/consumers', { name: 'M' }, minimal), 201);
    assert.equal(made.body.length, 0);
    assert.equal(made.headers['preference-applied'], 'return=minimal');
    const ended = client.expect(await client.post(made.link('terminate'), {}, minimal), 200);
    assert.equal(ended.body.length, 0);
    assert.ok(ended.link('reinstate'));
    const etag = { 'if-match': ended.headers.etag ?? '' };
    const both = { prefer: 'return=minimal, handling=strict', ...etag };
    const back = client.expect(await client.post(ended.link('reinstate'), {}, both), 200);
    assert.match(back.headers['preference-applied'] ?? '', /handling=strict/);
    assert.match(back.headers['preference-applied'] ?? '', /return=minimal/);
  });

  it('does not terminate by DELETE', async () => {
    const made = await client.consumer();
    const granted = await client.grant(made);
    for (const thing of [made, granted]) {
      const before = await client.get(thing.link('self'));
      const answer = await service.send(thing.link('self'), { method: 'DELETE' });
      assert.equal(answer.status, 405);
      assert.equal(answer.headers.allow, 'GET, HEAD, POST, OPTIONS');
      assert.equal(answer.link('terminate'), thing.link('terminate'));
      assert.equal((await client.get(thing.link('self'))).text(), before.text());
    }
    client.expect(await client.post(made.link('terminate')), 200);
    const late = await service.send(made.link('self'), { method: 'DELETE' });
    assert.equal(late.status, 405);
    assert.ok(!late.links.some(({ rel }) => rel === 'terminate'));
  });

  it('tells of each change once, in the same order, and of nothing that did not change', async () => {
    const start = (await service.events()).length;
    const made = await client.consumer({ name: 'Told' });
    const one = await client.grant(made, 'p1');
    await client.grant(made, 'p2');
    await client.post(made.link('self'), { name: 'Told' });
    await client.post(made.link('self'), { name: 'Retold', metadata: { x: 'y' } });
    await client.post(one.link('self'), { quantity: 2 });
    await client.post(one.link('terminate'), { reason: 'over' });
    await client.post(one.link('terminate'));
    await client.post(made.link('terminate'), { reason: 'gone' });
    await client.post(made.link('terminate'));
    await client.post((await client.get(made.link('self'))).link('reinstate'));
    const events = (await service.events()).slice(start);
    const id = made.json<ConsumerJson>().id;
    const entitlement = one.json<EntitlementJson>().id;
    assert.deepEqual(
      events.map(({ type, data }) => [type, data.version]),
      [
        ['consumer.created', 1],
        ['entitlement.created', 1],
        ['entitlement.created', 1],
        ['consumer.updated', 4],
        ['entitlement.updated', 2],
        ['entitlement.terminated', 3],
        ['consumer.terminated', 6],
        ['consumer.reinstated', 7],
      ],
    );
    assert.deepEqual(events[3]?.data, { id, version: 4, changed: ['name', 'metadata'] });
    assert.deepEqual(events[6]?.data, { id, version: 6, entitlements: 1, reason: 'gone' });
    assert.equal(events[6]?.subject, new URL(made.link('self')).pathname);
    assert.deepEqual(events[5]?.data, { id: entitlement, version: 3, consumer: id, product: 'p1', reason: 'over' });
  });
});
