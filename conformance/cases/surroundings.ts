import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectProblem, expectTime, lastingFields } from '../expect.ts';
import type { World } from '../world.ts';

export function surroundings(world: World): void {
  const { client } = world;

  it('G12 times are RFC 3339 in UTC, and now is now', async () => {
    const queue = await world.queue();
    const topic = await world.topic();
    for (const { address } of [queue, topic]) {
      const { created } = (await client.get(address)).json();
      expectTime(created, 'created');
    }
    const [address = ''] = await world.post(queue, ['x']);
    const posted = (await client.get(address)).headers['message-posted'];
    expectTime(posted, 'Message-Posted');
    const { items } = (await client.get(await world.link('queues'))).json<{ items: { created: string }[] }>();
    for (const item of items) expectTime(item.created, 'created in a list');
    // No clock is that wrong; a time in seconds, or in another zone, would be.
    const distance = Math.abs(Date.parse(posted ?? '') - Date.now());
    assert.ok(distance < 12 * 3600_000, `${posted}`);
  });

  it('G12 durations are seconds, whole or decimal', async () => {
    const queue = await world.queue({ lease: 1.5, ttl: 2, delay: 0.25, retention: 10 });
    const { lease, ttl, delay, retention } = (await client.get(queue.address)).json();
    assert.deepEqual({ lease, ttl, delay, retention }, { lease: 1.5, ttl: 2, delay: 0.25, retention: 10 });
    for (const value of ['PT5S', '5s', '1e1', '-1', '.5', '1,5', '0x10', 'Infinity']) {
      expectProblem(await client.post(queue.address, { body: 'x', query: { delay: value } }), 400);
    }
    (await client.post(queue.receiving, { headers: { 'accept-wait': '0.01' } })).expect(204);
  });

  it('G13 a strange origin is let in only where all are, and then can read what it needs', async () => {
    const answer = (await client.get('/', { headers: { origin: 'https://stranger.invalid' } })).expect(200);
    const origin = answer.headers['access-control-allow-origin'];
    assert.ok(origin === undefined || origin === '*', String(origin));
    const exposed = (answer.headers['access-control-expose-headers'] ?? '').toLowerCase().split(/\s*,\s*/);
    const needed = ['link', 'location', 'content-location', 'etag'];
    assert.ok(origin === undefined || exposed.includes('*') || needed.every((name) => exposed.includes(name)));
    assert.equal(answer.headers['access-control-allow-credentials'], undefined);
  });

  it('G14 Authorization is ignored, whatever it says', async () => {
    const queue = await world.queue();
    const url = `${client.bases[0]}${queue.address}`;
    const plain = await client.get(url);
    for (const authorization of ['Bearer abc', 'Basic Zm9vOmJhcg==', 'nonsense', '']) {
      const answer = (await client.get(url, { headers: { authorization } })).expect(200);
      assert.deepEqual(lastingFields(answer), lastingFields(plain));
    }
  });

  it('G14 Authorization and cookies are not handed on', async () => {
    const queue = await world.queue();
    const secret = 'Bearer do-not-hand-on';
    const headers = { authorization: secret, 'proxy-authorization': secret, cookie: `session=${secret}` };
    (await client.post(queue.address, { headers, body: 'x' })).expect(204);
    (await client.put(queue.message('named'), { headers, body: 'y' })).expect(201);
    for (let i = 0; i < 2; i++) {
      const received = (await client.post(queue.receiving)).expect(200);
      assert.ok(!JSON.stringify(received.headers).includes('do-not-hand-on'));
      const again = await client.get(client.store(received.headers['content-location'] ?? ''));
      assert.ok(!JSON.stringify(again.headers).includes('do-not-hand-on'));
    }
  });
}
