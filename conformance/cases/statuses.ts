import assert from 'node:assert/strict';
import { it } from 'node:test';
import { allowed, expectProblem } from '../expect.ts';
import type { World } from '../world.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

export function statuses(world: World): void {
  const { client } = world;

  it('G6 400 for a body that cannot be read', async () => {
    const queues = await world.link('queues');
    for (const body of ['{', '{"name"}', 'name=x', '\u0000', '']) {
      const answer = await client.post(queues, { headers: JSON_TYPE, body });
      // No body at all is readable: it only lacks the name.
      expectProblem(answer, body === '' ? 422 : 400);
    }
    const latin1 = Buffer.from(`{"name":"${world.name()}\xe9"}`, 'latin1');
    expectProblem(await client.post(queues, { headers: JSON_TYPE, body: latin1 }), 400);
    const unclosed = { headers: { 'content-type': 'application/xml' }, body: '<queue name="x">' };
    expectProblem(await client.post(queues, unclosed), 400);
  });

  it('G6 400 for an address that cannot be decoded', async () => {
    const queues = await world.link('queues');
    for (const broken of ['/%', '/%zz', '/%E0%A4%A', '/%ff']) expectProblem(await client.get(queues + broken), 400);
  });

  it('G6 404 for an address that nobody handed out', async () => {
    const queue = await world.queue();
    for (const address of ['/no-such-thing', `${queue.address}/no-such-thing`, `${queue.receiving}/x`]) {
      expectProblem(await client.get(address), 404);
    }
  });

  it('G6 405 with Allow', async () => {
    const queue = await world.queue();
    const refused = await client.send('PATCH', queue.address, { body: 'x' });
    expectProblem(refused, 405);
    assert.deepEqual(allowed(refused).sort(), ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT']);
    expectProblem(await client.delete(await world.link('queues')), 405);
    expectProblem(await client.delete(queue.receiving), 405);
    (await client.head(queue.address)).expect(200);
  });

  it('G6 OPTIONS also answers for what is not there yet', async () => {
    const answer = await client.send('OPTIONS', await world.address('queue', world.name()));
    assert.ok(allowed(answer.expect(204)).includes('PUT'));
    assert.equal(answer.body.length, 0);
  });

  it('G6 415 with Accept-Post', async () => {
    const queues = await world.link('queues');
    for (const type of ['text/plain', 'image/png', 'nonsense', undefined]) {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
      const answer = await client.post(queues, { headers, body: 'x' });
      expectProblem(answer, 415);
      for (const understood of ['application/json', 'application/xml', 'application/x-www-form-urlencoded']) {
        assert.ok(answer.headers['accept-post']?.includes(understood), String(answer.headers['accept-post']));
      }
    }
    const put = await client.put((await world.queue()).address, { headers: { 'content-type': 'text/csv' }, body: 'x' });
    expectProblem(put, 415);
    assert.ok(put.headers['accept-post']);
  });

  it('G6 422 for what can be read and is wrong', async () => {
    const queues = await world.link('queues');
    const name = world.name();
    const wrong = [{}, { name: 5 }, { name, lease: -1 }, { name, 'max-length': 1.5 }, { name, unknown: 1 }];
    for (const body of wrong) {
      expectProblem(await client.post(queues, { headers: JSON_TYPE, body: JSON.stringify(body) }), 422);
    }
    expectProblem(await client.post(queues, { headers: FORM, body: `name=${name}&lease=5&lease=6` }), 422);
    (await client.get(await world.address('queue', name))).expect(404);
  });

  it('G6 strange input is the client’s fault, never a 5xx', async () => {
    const queues = await world.link('queues');
    const strange = [
      '{"__proto__":{"name":"x"},"constructor":1}',
      '{"name":{"toString":1}}',
      '{"name":["a"]}',
      '[]',
      'null',
      '"x"',
      '1e999',
      `{"name":"x","lease":${'9'.repeat(400)}}`,
      '['.repeat(100_000),
      `{"name":"a\\u0000b"}`,
      `{"name":"\\ud800"}`,
    ];
    for (const body of strange) {
      const { status, asked } = await client.post(queues, { headers: JSON_TYPE, body });
      assert.ok(status >= 400 && status < 500, `${asked} with ${body.slice(0, 60)} answered ${status}`);
    }
  });

  it('G6 a method that nobody knows is answered 405 or 501, never by a dropped connection', async () => {
    for (const method of ['PROPPATCH', 'FROBNICATE']) {
      expectProblem(await client.send(method, '/'), 405, 501);
    }
  });

  it('G6 unknown query parameters are ignored, known ones given twice are not', async () => {
    (await client.get(await world.link('queues'), { query: { 'made-up': 'x', utm_source: 'y' } })).expect(200);
    const twice = `${await world.link('queues')}?per_page=1&per_page=2`;
    expectProblem(await client.get(twice), 400);
  });
}
