import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, it } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import type { Answer } from '../../../testing/http.ts';
import { timeOf } from '../../src/http/times.ts';
import {
  ACCEPT_JSON,
  type ConsumerJson,
  clientOf,
  type EntitlementJson,
  openService,
  type Service,
  XML,
} from './service.ts';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const DAY = 24 * 3_600_000;
const RACERS = 16;

const relsOf = (answer: Answer): string[] => answer.links.map(({ rel }) => rel);
const stateOf = (answer: Answer): string => answer.json<EntitlementJson>().state;
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

forEachEngine('entitlements', (engine) => {
  let service: Service;
  let client: ReturnType<typeof clientOf>;
  before(async () => {
    service = await openService(engine);
    client = clientOf(service);
  });
  beforeEach(() => {
    service.clock.time = NOW;
  });
  after(() => service.close());

  it('are created below a consumer or in the collection, in every form', async () => {
    const consumer = await client.consumer();
    const { id } = consumer.json<ConsumerJson>();
    const below = await client.grant(consumer, { product: { id: 'p1', name: 'One' }, quantity: 5 });
    assert.equal(below.headers.location, below.link('self'));
    assert.deepEqual(relsOf(below), ['self', 'consumer', 'terminate']);
    const { product, quantity, start, end, state, consumer: owner } = below.json<EntitlementJson>();
    assert.deepEqual(
      { product, quantity, start, end, state, owner },
      {
        product: { id: 'p1', name: 'One' },
        quantity: 5,
        start: timeOf(NOW),
        end: undefined,
        state: 'active',
        owner: id,
      },
    );
    for (const [named, wanted] of [
      [id, 'by-id'],
      [consumer.link('self'), 'by-uri'],
      [new URL(consumer.link('self')).pathname, 'by-path'],
    ]) {
      client.expect(await client.post('/entitlements', { consumer: named, product: wanted }), 201);
    }
    for (const product of ['<product>x1</product>', '<product id="x2"/>', '<product><id>x3</id></product>']) {
      const body = `<entitlement><consumer>${id}</consumer>${product}</entitlement>`;
      const made = await service.send('/entitlements', { method: 'POST', headers: XML, body });
      assert.equal(made.status, 201, made.text());
      assert.equal(made.headers['content-type'], 'application/xml');
    }
    const ids = (await client.all<EntitlementJson>(consumer.link('entitlements'))).map((each) => each.product.id);
    assert.deepEqual(ids, ['p1', 'by-id', 'by-uri', 'by-path', 'x1', 'x2', 'x3']);
    assert.equal((await client.get(consumer.link('self'))).json<ConsumerJson>()['entitlement-count'], 7);
  });

  it('are refused with a pointer when something is wrong with them', async () => {
    const consumer = await client.consumer();
    const wrong: [object, string][] = [
      [{}, '/product'],
      [{ product: '' }, '/product'],
      [{ product: { name: 'x' } }, '/product'],
      [{ product: { id: 7 } }, '/product/id'],
      [{ product: { id: 'p', name: 'x'.repeat(256) } }, '/product/name'],
      [{ product: { id: 'p', size: 'x' } }, '/product/size'],
      [{ product: 'p', quantity: 0 }, '/quantity'],
      [{ product: 'p', quantity: 1.5 }, '/quantity'],
      [{ product: 'p', quantity: null }, '/quantity'],
      [{ product: 'p', start: 'tomorrow' }, '/start'],
      [{ product: 'p', end: '2030-02-30T00:00:00Z' }, '/end'],
      [{ product: 'p', end: timeOf(NOW) }, '/end'],
      [{ product: 'p', start: '2031-01-01T00:00:00Z', end: '2031-01-01T00:00:00Z' }, '/end'],
      [{ product: 'p', state: 'terminated' }, '/state'],
      [{ product: 'p', consumer: randomUUID() }, '/consumer'],
      [{ product: 'p', consumer: 'http://elsewhere.example/consumers/1' }, '/consumer'],
      [{ product: 'p', color: 'red' }, '/color'],
    ];
    for (const [body, pointer] of wrong) {
      const answer = client.expect(await client.post(consumer.link('entitlements'), body), 422);
      const { errors } = answer.json<{ errors: { pointer: string }[] }>();
      assert.deepEqual(
        errors.map((error) => error.pointer),
        [pointer],
        JSON.stringify(body),
      );
    }
    client.expect(await client.post('/entitlements', { product: 'p' }), 422);
    client.expect(await client.post('/entitlements', { product: 'p', consumer: randomUUID() }), 404);
    const id = randomUUID();
    const made = await client.grant(consumer, { id, product: 'p' });
    const again = client.expect(await client.post(consumer.link('entitlements'), { id, product: 'q' }), 409);
    assert.equal(again.link('about'), made.link('self'));
    assert.equal((await client.get(consumer.link('self'))).json<ConsumerJson>()['entitlement-count'], 1);
  });

  it('go with time from pending to active to expired', async () => {
    const consumer = await client.consumer();
    const period = { start: timeOf(NOW + DAY), end: timeOf(NOW + 2 * DAY) };
    const made = await client.grant(consumer, { product: 'p', ...period });
    const at = async (time: number): Promise<Answer> => {
      service.clock.time = time;
      return client.get(made.link('self'));
    };
    const tags = new Set<string | undefined>();
    for (const [time, state] of [
      [NOW, 'pending'],
      [NOW + DAY - 1, 'pending'],
      [NOW + DAY, 'active'],
      [NOW + 2 * DAY - 1, 'active'],
      [NOW + 2 * DAY, 'expired'],
    ] as const) {
      const answer = await at(time);
      assert.equal(stateOf(answer), state);
      tags.add(answer.headers.etag);
    }
    assert.equal(tags.size, 3, 'a state of its own has an ETag of its own');
  });

  it('end with their consumer and come back as they were', async () => {
    const consumer = await client.consumer();
    const active = await client.grant(consumer, 'active');
    const own = await client.grant(consumer, 'own');
    const expiring = await client.grant(consumer, { product: 'expiring', end: timeOf(NOW + DAY) });
    client.expect(await client.post(own.link('terminate'), { reason: 'mine' }), 200);
    service.clock.time = NOW + 2 * DAY;
    const states = async (): Promise<[string, string | undefined][]> => {
      const answers = await Promise.all([active, own, expiring].map((each) => client.get(each.link('self'))));
      return answers.map((answer) => [stateOf(answer), answer.json<EntitlementJson>().terminated?.cause]);
    };
    const before = await states();
    assert.deepEqual(before, [
      ['active', undefined],
      ['terminated', 'entitlement'],
      ['expired', undefined],
    ]);
    const ended = client.expect(await client.post(consumer.link('terminate'), { reason: 'all' }), 200);
    assert.deepEqual(await states(), [
      ['terminated', 'consumer'],
      ['terminated', 'entitlement'],
      ['terminated', 'consumer'],
    ]);
    const hidden = await client.get(active.link('self'));
    assert.deepEqual(relsOf(hidden), ['self', 'consumer']);
    assert.equal(hidden.json<EntitlementJson>().terminated?.reason, 'all');
    // Nothing about an entitlement can be decided while its consumer is terminated.
    const refused = client.expect(await client.post(`${active.link('self')}/reinstate`), 409);
    assert.equal(refused.link('reinstate'), ended.link('reinstate'));
    assert.equal((await client.post(active.link('terminate'))).text(), hidden.text());
    client.expect(await client.post(active.link('terminate'), {}, { prefer: 'handling=strict' }), 409);
    const grant = client.expect(await client.post(consumer.link('entitlements'), { product: 'new' }), 409);
    assert.equal(grant.link('reinstate'), ended.link('reinstate'));

    client.expect(await client.post(ended.link('reinstate')), 200);
    assert.deepEqual(await states(), before);
  });

  it('are one per product, as long as the first is neither terminated nor expired', async () => {
    const consumer = await client.consumer();
    const first = await client.grant(consumer, { product: 'p', end: timeOf(NOW + DAY) });
    const another = (): Promise<Answer> => client.post(consumer.link('entitlements'), { product: 'p' });
    assert.equal(client.expect(await another(), 409).link('entitlement'), first.link('self'));
    service.clock.time = NOW + DAY;
    const second = client.expect(await another(), 201);
    const later = { end: timeOf(NOW + 9 * DAY) };
    assert.equal(
      client.expect(await client.post(first.link('self'), later), 409).link('entitlement'),
      second.link('self'),
    );
    client.expect(await client.post(second.link('terminate')), 200);
    client.expect(await client.post(first.link('self'), later), 200);
    const rival = client.expect(await client.post(`${second.link('self')}/reinstate`), 409);
    assert.equal(rival.link('entitlement'), first.link('self'));
    client.expect(await client.post(first.link('terminate')), 200);
    client.expect(await client.post(`${second.link('self')}/reinstate`), 200);
    // A record of the past stands in nobody’s way.
    const past = { product: 'p', start: timeOf(NOW - 2 * DAY), end: timeOf(NOW - DAY) };
    assert.equal(stateOf(await client.grant(consumer, past)), 'expired');
    client.expect(await client.post(consumer.link('terminate')), 200);
    client.expect(await client.post(`${consumer.link('self')}/reinstate`), 200);
    const listed = await client.all<EntitlementJson>(`${consumer.link('entitlements')}?status=active`);
    assert.deepEqual(
      listed.map(({ id }) => id),
      [second.json<EntitlementJson>().id],
    );
  });

  it('change what may change; the rest is 422 with the link to follow', async () => {
    const consumer = await client.consumer();
    const made = await client.grant(consumer, { product: { id: 'p', name: 'Old' }, end: timeOf(NOW + DAY) });
    const self = made.link('self');
    const changed = client.expect(
      await client.post(self, { quantity: 9, product: { id: 'p', name: 'New' }, end: null }),
      200,
    );
    const { quantity, product, end } = changed.json<EntitlementJson>();
    assert.deepEqual({ quantity, product, end }, { quantity: 9, product: { id: 'p', name: 'New' }, end: undefined });
    for (const body of [{ product: 'q' }, { consumer: randomUUID() }, { id: randomUUID() }, { quantity: -1 }]) {
      client.expect(await client.post(self, body), 422);
    }
    client.expect(await client.post(self, { start: timeOf(NOW + DAY), end: timeOf(NOW) }), 422);
    assert.equal(
      client.expect(await client.post(self, { state: 'terminated' }), 422).link('terminate'),
      made.link('terminate'),
    );
    client.expect(await client.post(self, { state: 'expired' }), 422);
    // Time went on between a GET and a POST: that is no wish for another state.
    client.expect(await client.post(self, { state: 'pending' }), 200);
    client.expect(await client.post(self, { quantity: 1 }, { 'if-match': made.headers.etag ?? '' }), 412);
    client.expect(await client.post(made.link('terminate'), {}, { 'if-match': made.headers.etag ?? '' }), 412);
    const ended = client.expect(await client.post(made.link('terminate'), { reason: 'enough' }), 200);
    assert.deepEqual(relsOf(ended), ['self', 'consumer', 'reinstate']);
    assert.equal(
      client.expect(await client.post(self, { state: 'active' }), 422).link('reinstate'),
      ended.link('reinstate'),
    );
    client.expect(await client.post(ended.link('reinstate'), {}, { prefer: 'handling=strict' }), 200);
    client.expect(await client.post(ended.link('reinstate'), {}, { prefer: 'handling=strict' }), 409);
    client.expect(await client.post(ended.link('reinstate')), 200);
  });

  it('are granted once when many ask at the same time', async () => {
    for (const _ of range(5)) {
      const consumer = await client.consumer();
      const answers = await Promise.all(
        range(RACERS).map(() => client.post(consumer.link('entitlements'), { product: 'p' })),
      );
      const [made] = answers.filter(({ status }) => status === 201);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(RACERS - 1).fill(409)]);
      for (const answer of answers) {
        if (answer.status === 409) assert.equal(answer.link('entitlement'), made?.link('self'));
      }
    }
  });

  it('keep one in force when many reinstate and extend their rivals at the same time', async () => {
    const consumer = await client.consumer();
    const rivals: Answer[] = [];
    for (const i of range(RACERS)) {
      if (i % 2 === 0) {
        const made = await client.grant(consumer, { product: 'p' });
        client.expect(await client.post(made.link('terminate')), 200);
        rivals.push(made);
      } else {
        const start = timeOf(NOW - 2 * DAY);
        rivals.push(await client.grant(consumer, { product: 'p', start, end: timeOf(NOW - DAY) }));
      }
    }
    const answers = await Promise.all(
      rivals.map((rival, i) =>
        i % 2 === 0
          ? client.post(`${rival.link('self')}/reinstate`)
          : client.post(rival.link('self'), { end: timeOf(NOW + DAY) }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(RACERS - 1).fill(409)]);
    assert.equal((await client.all(`${consumer.link('entitlements')}?status=active`)).length, 1);
  });

  it('leave one winner when many create consumers with the same id or key', async () => {
    const id = randomUUID();
    const key = randomUUID();
    for (const body of [
      { name: 'x', id },
      { name: 'x', 'external-key': key },
    ]) {
      const answers = await Promise.all(range(RACERS).map(() => client.post('/consumers', body)));
      const [made] = answers.filter(({ status }) => status === 201);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(RACERS - 1).fill(409)]);
      for (const answer of answers) if (answer.status === 409) assert.equal(answer.link('about'), made?.link('self'));
    }
    // Many who want a key that one holds, while that one swaps it away: in the end exactly one has it.
    const all = await Promise.all(range(8).map((i) => client.consumer({ name: 'k', 'external-key': `${key}-${i}` })));
    await Promise.all(
      all.flatMap((each, i) =>
        range(3).map((turn) => client.post(each.link('self'), { 'external-key': `${key}-${(i + turn) % 8}` })),
      ),
    );
    const keys = await Promise.all(
      all.map(async (each) => (await client.get(each.link('self'))).json<ConsumerJson>()['external-key']),
    );
    assert.equal(new Set(keys).size, keys.length, keys.join());
    for (const [i, found] of keys.entries()) {
      const [owner] = await client.all<ConsumerJson>(`/consumers?external-key=${found}`);
      assert.equal(owner?.id, all[i]?.json<ConsumerJson>().id);
    }
  });

  it('answer whether a consumer may use a product, now or at another time', async () => {
    const consumer = await client.consumer();
    const { id } = consumer.json<ConsumerJson>();
    await client.grant(consumer, { product: 'p', start: timeOf(NOW + DAY), end: timeOf(NOW + 3 * DAY) });
    const may = async (more: string): Promise<number> =>
      (await client.all(`/entitlements?consumer=${id}&product=p&status=active${more}`)).length;
    const at = (time: number): string => `&at=${encodeURIComponent(timeOf(time))}`;
    assert.deepEqual([await may(''), await may(at(NOW + DAY)), await may(at(NOW + 3 * DAY))], [0, 1, 0]);
    assert.equal(await may('&at=2030-01-02T02:00:00+02:00'), 1, 'a plus that came as a space');
    service.clock.time = NOW + 2 * DAY;
    assert.equal(await may(''), 1);
    client.expect(await client.post(consumer.link('terminate')), 200);
    assert.deepEqual([await may(''), await may(at(NOW + 2 * DAY - 1)), await may(at(NOW + 2 * DAY))], [0, 1, 0]);
    const [then] = await client.all<EntitlementJson>(`/entitlements?consumer=${id}${at(NOW)}`);
    assert.equal(then?.state, 'pending');
    assert.equal(then?.terminated, undefined);
    for (const query of [
      'at=yesterday',
      'status=gone',
      'consumer=x',
      'product=',
      'consumer=',
      'at=2030-13-01T00:00:00Z',
    ]) {
      client.expect(await client.get(`/entitlements?${query}`), 400);
    }
    assert.equal((await service.send(`/entitlements?consumer=${id}`, { headers: ACCEPT_JSON })).status, 200);
  });
});
