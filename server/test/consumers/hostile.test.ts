/** Whatever is sent, it is never the service that is at fault; and what is taken can be read in both representations. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import { fc } from '../../../testing/properties.ts';
import { parseXml, renderXml } from '../../src/http/xml.ts';
import { type ConsumerJson, clientOf, type EntitlementJson, openService, type Service } from './service.ts';

const RUNS = 150;

const odd = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', ' ', '\0', '\ud800', '__proto__', 'link', 'x'.repeat(300), '2030-01-01T00:00:00Z', '1e9', '-1'),
);
const value = fc.oneof(
  { weight: 3, arbitrary: odd },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.dictionary(odd, odd, { maxKeys: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 1, 1.5, -1, 2 ** 53, 1e300, null, true, []) },
);
const names = [
  'id',
  'name',
  'external-key',
  'metadata',
  'state',
  'product',
  'quantity',
  'start',
  'end',
  'consumer',
  'reason',
];
const body = fc.dictionary(fc.oneof(fc.constantFrom(...names, 'ids', 'links', 'terminated'), odd), value, {
  maxKeys: 6,
});

forEachEngine('hostile input', (engine) => {
  let service: Service;
  let client: ReturnType<typeof clientOf>;
  before(async () => {
    service = await openService(engine);
    client = clientOf(service);
  });
  // Closing the service also asserts that none of these was a fault of its own.
  after(() => service.close());

  it('is refused by its own fault, or taken', { timeout: 120_000 }, async () => {
    const consumer = await client.consumer();
    const granted = await client.grant(consumer);
    const targets = [
      '/consumers',
      '/entitlements',
      '/consumers/terminate',
      '/entitlements/terminate',
      consumer.link('self'),
      consumer.link('entitlements'),
      consumer.link('terminate'),
      `${consumer.link('self')}/reinstate`,
      granted.link('self'),
      granted.link('terminate'),
      `${granted.link('self')}/reinstate`,
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...targets), body, async (target, fields) => {
        const answer = await client.post(target, fields);
        assert.ok(answer.status < 500, `${target} ${JSON.stringify(fields)} → ${answer.status}`);
        if (answer.status !== 201) return;
        await readsBack(answer.link('self'));
      }),
      { numRuns: RUNS },
    );
  });

  it('that is taken comes back in both representations as it was', { timeout: 120_000 }, async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 });
    const key = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.-]{0,10}$/).filter((each) => each !== 'link');
    const metadata = fc.dictionary(key, text, { maxKeys: 5, noNullPrototype: true });
    await fc.assert(
      fc.asyncProperty(text, metadata, async (name, given) => {
        const answer = await client.post('/consumers', { name: `x${name}x`, metadata: given });
        if (answer.status === 422) return;
        const consumer = client.expect(answer, 201).json<ConsumerJson>();
        assert.equal(consumer.name, `x${name}x`);
        const trimmed = Object.entries(given).map(([each, one]) => [each, one.trim()]);
        assert.deepEqual(Object.entries(consumer.metadata ?? {}).sort(), trimmed.sort());
        await readsBack(answer.link('self'));
      }),
      { numRuns: RUNS },
    );
  });

  /** The XML of a document, sent back, changes nothing: so it said the same as what is stored. */
  async function readsBack(path: string): Promise<void> {
    const xml = await service.send(path);
    assert.equal(xml.status, 200);
    assert.equal(parseXml(renderXml(parseXml(xml.text()))).name, parseXml(xml.text()).name);
    const headers = { 'content-type': 'application/xml' };
    const sent = await service.send(path, { method: 'POST', headers, body: xml.body });
    assert.equal(sent.status, 200, sent.text());
    assert.equal(sent.headers.etag, xml.headers.etag, xml.text());
  }

  it('in addresses and queries is 400 or 404', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('consumer', 'product', 'status', 'at', 'cursor', 'external-key'),
        odd,
        async (name, word) => {
          const query = `${name}=${encodeURIComponent(word.toWellFormed())}`;
          for (const path of ['/consumers', '/entitlements', `/consumers/${encodeURIComponent(word.toWellFormed())}`]) {
            const answer = await client.get(`${path}?${query}`);
            assert.ok([200, 400, 404].includes(answer.status), `${path}?${query} → ${answer.status}`);
          }
        },
      ),
      { numRuns: RUNS / 3 },
    );
    const granted = await client.grant(await client.consumer(), { product: 'odd "<&>" product', id: randomUUID() });
    const { product } = granted.json<EntitlementJson>();
    const found = await client.all<EntitlementJson>(`/entitlements?product=${encodeURIComponent(product.id)}`);
    assert.equal(found.length, 1);
  });
});
