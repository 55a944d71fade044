import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import type { Answer } from '../../../testing/http.ts';
import { PIECE } from '../../src/consumers/bulk.ts';
import { type ConsumerJson, clientOf, openService, type Service } from './service.ts';

type Bulk = {
  state: string;
  total: number;
  done: number;
  terminated: number;
  items: { item: string; status: number; outcome: string; links: { rel: string; href: string }[] }[];
};

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

forEachEngine('terminating many', (engine) => {
  let service: Service;
  let client: ReturnType<typeof clientOf>;
  before(async () => {
    service = await openService(engine, { maxBatch: 200 });
    client = clientOf(service);
  });
  after(() => service.close());

  const uriList = (path: string, lines: string[], headers: Record<string, string> = {}): Promise<Answer> =>
    service.send(path, {
      method: 'POST',
      headers: { 'content-type': 'text/uri-list', ...headers },
      body: lines.join('\r\n'),
    });
  const stateOf = async (thing: Answer): Promise<string> =>
    (await client.get(thing.link('self'))).json<ConsumerJson>().state;
  const link = async (): Promise<string> => (await client.get('/consumers')).link('terminate');

  it('gives one outcome per item, in order', async () => {
    const one = await client.consumer();
    const two = await client.consumer();
    const three = await client.consumer();
    client.expect(await client.post(three.link('terminate')), 200);
    const unknown = `${service.url}/consumers/${randomUUID()}`;
    const lines = [one.link('self'), '# a comment', '', two.json<ConsumerJson>().id, three.link('self'), unknown];
    const answer = await uriList(await link(), [...lines, 'http://elsewhere.example/x', one.link('self')]);
    client.expect(answer, 200);
    const bulk = answer.json<Bulk>();
    assert.deepEqual(
      bulk.items.map(({ status, outcome }) => [status, outcome]),
      [
        [200, 'terminated'],
        [200, 'terminated'],
        [200, 'unchanged'],
        [404, 'unknown'],
        [422, 'refused'],
        [200, 'unchanged'],
      ],
    );
    assert.equal(bulk.items[0]?.links[0]?.href, one.link('self'));
    assert.deepEqual([await stateOf(one), await stateOf(two)], ['terminated', 'terminated']);
  });

  it('takes ids as JSON, with a reason, and strictly when asked', async () => {
    const made = await Promise.all(range(3).map(() => client.consumer()));
    const ids = made.map((each) => each.json<ConsumerJson>().id);
    const first = client.expect(await client.post(await link(), { ids: ids.slice(1), reason: 'closed' }), 200);
    assert.equal(first.json<Bulk>().terminated, 2);
    const ended = (await client.get((made[1] as Answer).link('self'))).json<ConsumerJson>();
    assert.equal(ended.terminated?.reason, 'closed');
    const strict = await service.send(await link(), {
      method: 'POST',
      headers: { 'content-type': 'application/json', prefer: 'handling=strict' },
      body: JSON.stringify(ids),
    });
    assert.equal(strict.headers['preference-applied'], 'handling=strict');
    assert.deepEqual(
      strict.json<Bulk>().items.map(({ status }) => status),
      [200, 409, 409],
    );
  });

  it('terminates entitlements by the link of their collection', async () => {
    const consumer = await client.consumer();
    const granted = await Promise.all(range(3).map((i) => client.grant(consumer, `p${i}`)));
    const collection = await client.get('/entitlements');
    const answer = await uriList(
      collection.link('terminate'),
      granted.slice(0, 2).map((each) => each.link('self')),
    );
    assert.equal(client.expect(answer, 200).json<Bulk>().terminated, 2);
    assert.deepEqual(await Promise.all(granted.map(stateOf)), ['terminated', 'terminated', 'active']);
    assert.equal((await client.get(consumer.link('self'))).json<ConsumerJson>()['entitlement-count'], 1);
    const wrong = await uriList(collection.link('terminate'), [consumer.link('self')]);
    assert.equal(wrong.json<Bulk>().items[0]?.status, 422);
  });

  it('refuses what it cannot read, nothing, and too much', async () => {
    const path = await link();
    client.expect(await uriList(path, ['# nothing']), 422);
    client.expect(
      await uriList(
        path,
        range(201).map(() => randomUUID()),
      ),
      413,
    );
    client.expect(await client.post(path, { ids: 'x' }), 422);
    client.expect(await client.post(path, { ids: [randomUUID()], color: 'red' }), 422);
    const send = (type: string, body: string) =>
      service.send(path, { method: 'POST', headers: { 'content-type': type }, body });
    client.expect(await send('application/json', '['), 400);
    client.expect(await send('application/xml', '<a/>'), 415);
    assert.equal((await client.get(path)).status, 405);
  });

  it('goes on in the background, also after a restart in the middle, and each is ended once', async () => {
    const count = 2 * PIECE + 10;
    const made = await Promise.all(range(count).map((i) => client.consumer({ name: `bulk ${i}` })));
    const before = (await service.events()).length;
    const answer = await uriList(
      await link(),
      made.map((each) => each.link('self')),
      { prefer: 'respond-async' },
    );
    client.expect(answer, 202);
    assert.equal(answer.headers['preference-applied'], 'respond-async');
    assert.equal(answer.headers['retry-after'], '1');
    assert.equal(answer.headers.location, answer.link('self'));
    assert.deepEqual([answer.json<Bulk>().state, answer.json<Bulk>().done], ['running', 0]);
    assert.equal(await service.area.bulk.step(), true);
    const path = new URL(answer.link('self')).pathname;
    const half = (await client.get(path)).json<Bulk>();
    assert.deepEqual([half.state, half.done, half.items.length, half.total], ['running', PIECE, PIECE, count]);

    await service.restart();
    // Two at once, as on two nodes.
    await Promise.all([service.runJobs(), service.runJobs()]);
    const whole = (await client.get(path)).json<Bulk>();
    assert.deepEqual([whole.state, whole.done, whole.terminated], ['finished', count, count]);
    assert.deepEqual(
      whole.items.map(({ item }) => new URL(item).pathname),
      made.map((each) => new URL(each.link('self')).pathname),
    );
    const events = (await service.events()).slice(before);
    assert.equal(events.length, count);
    assert.ok(events.every(({ type }) => type === 'consumer.terminated'));
    assert.equal(new Set(events.map(({ subject }) => subject)).size, count);
    client.expect(await client.get('/terminations/00000000000'), 404);
  });

  it('forgets what came of it after a day', async () => {
    const consumer = await client.consumer();
    const answer = await uriList(await link(), [consumer.link('self')], { prefer: 'respond-async' });
    await service.runJobs();
    const path = new URL(client.expect(answer, 202).link('self')).pathname;
    assert.equal((await client.get(path)).json<Bulk>().state, 'finished');
    service.clock.time = Date.now() + 25 * 3_600_000;
    await service.runJobs();
    client.expect(await client.get(path), 404);
    assert.equal(await stateOf(consumer), 'terminated');
    delete service.clock.time;
  });

  it('does not get stuck when several name the same ones in different orders', async () => {
    const made = await Promise.all(range(20).map((i) => client.consumer({ name: `race ${i}` })));
    const uris = made.map((each) => each.link('self'));
    const path = await link();
    const answers = await Promise.all(range(8).map((i) => uriList(path, i % 2 === 0 ? uris : [...uris].reverse())));
    const ended = answers.map((answer) => client.expect(answer, 200).json<Bulk>().terminated);
    assert.equal(
      ended.reduce((sum, each) => sum + each, 0),
      uris.length,
    );
  });
});
