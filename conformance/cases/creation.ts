import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectAbsolute, expectProblem } from '../expect.ts';
import type { Kind, World } from '../world.ts';
import { escapeXml } from '../xml.ts';

type Fields = Record<string, string | number>;

/** The three ways to say the same in a body. */
const WRITERS: Record<string, (kind: Kind, fields: Fields) => string> = {
  'application/x-www-form-urlencoded': (_, fields) =>
    String(new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)]))),
  'application/json': (_, fields) => JSON.stringify(fields),
  'application/xml': (kind, fields) => {
    const children = Object.entries(fields).map(([name, value]) => `<${name}>${escapeXml(String(value))}</${name}>`);
    return `<${kind}>${children.join('')}</${kind}>`;
  },
};

const JSON_TYPE = { 'content-type': 'application/json' };

export function creation(world: World): void {
  const { client } = world;

  for (const kind of ['queue', 'topic'] as const) {
    for (const [type, write] of Object.entries(WRITERS)) {
      it(`A1 POST to the ${kind}s creates by ${type}: 201 and Location`, async () => {
        const name = world.name();
        const address = await world.address(kind, name);
        const body = write(kind, { name, retention: 5 });
        const answer = await client.post(await world.link(`${kind}s`), { headers: { 'content-type': type }, body });
        const { location } = answer.expect(201).headers;
        expectAbsolute(location, 'Location');
        assert.equal(client.store(location), address);
        assert.equal(answer.json().name, name);
        const { retention } = (await client.get(location)).expect(200).json();
        assert.equal(retention, 5);
      });

      it(`A1 PUT creates and replaces a ${kind} by ${type}: 201, then 200`, async () => {
        const address = await world.address(kind, world.name());
        const headers = { 'content-type': type };
        const created = await client.put(address, { headers, body: write(kind, { retention: 5, ttl: 6 }) });
        assert.equal(client.store(created.expect(201).headers.location ?? ''), address);
        const replaced = await client.put(address, { headers, body: write(kind, { retention: 7 }) });
        const { retention, ttl } = replaced.expect(200).json();
        assert.deepEqual({ retention, ttl }, { retention: 7, ttl: undefined });
      });
    }

    it(`A1 PUT with an empty body creates a ${kind}, or gives every setting its default`, async () => {
      const address = await world.address(kind, world.name());
      (await client.put(address)).expect(201);
      const { created, counts, links, ...fresh } = (await client.get(address)).json();
      (await client.put(address, { headers: JSON_TYPE, body: '{"retention":5,"ttl":9}' })).expect(200);
      (await client.put(address)).expect(200);
      const again = (await client.get(address)).json();
      for (const [name, value] of Object.entries(fresh)) assert.deepEqual(again[name], value, name);
      assert.equal(again.ttl, undefined);
    });

    it(`A1 creating a ${kind} that exists by POST is 409 and changes nothing`, async () => {
      const name = world.name();
      const address = await world.address(kind, name);
      (await client.put(address, { headers: JSON_TYPE, body: '{"retention":5}' })).expect(201);
      const body = JSON.stringify({ name, retention: 6 });
      expectProblem(await client.post(await world.link(`${kind}s`), { headers: JSON_TYPE, body }), 409);
      assert.equal((await client.get(address)).json().retention, 5);
    });

    it(`A1 a new ${kind} is listed, on every node`, async () => {
      const name = world.name();
      (await client.put(await world.address(kind, name))).expect(201);
      for (const base of client.bases) {
        let page = await client.get(`${base}${await world.link(`${kind}s`)}`, { query: { per_page: 1000 } });
        const names = () => page.json<{ items: { name: string }[] }>().items.map((item) => item.name);
        while (!names().includes(name)) page = (await client.get(page.link('next'))).expect(200);
        assert.ok(names().includes(name));
      }
    });

    it(`A1 posting to a ${kind} that does not exist creates it`, async () => {
      const address = await world.address(kind, world.name());
      const posted = (await client.post(address, { body: 'first' })).expect(204);
      (await client.get(address)).expect(200);
      assert.equal((await client.get(posted.headers.location ?? '')).expect(200).text(), 'first');
    });

    it(`A1 looking at a ${kind} that does not exist is 404 and does not create it`, async () => {
      const address = await world.address(kind, world.name());
      expectProblem(await client.get(address), 404);
      (await client.head(address)).expect(404);
      expectProblem(await client.delete(address), 404);
      expectProblem(await client.get(address), 404);
    });

    it(`A1 a ${kind}’s document that is sent back is taken`, async () => {
      const address = await world.address(kind, world.name());
      (await client.put(address, { headers: JSON_TYPE, body: '{"retention":5,"ttl":9}' })).expect(201);
      for (const type of ['application/json', 'application/xml']) {
        const { body } = await client.get(address, { headers: { accept: type } });
        (await client.put(address, { headers: { 'content-type': type }, body })).expect(200);
        const { retention, ttl } = (await client.get(address)).json();
        assert.deepEqual({ retention, ttl }, { retention: 5, ttl: 9 }, type);
      }
    });

    it(`A1 a ${kind}’s name in the body of a PUT must be the one in the address`, async () => {
      const address = await world.address(kind, world.name());
      const body = JSON.stringify({ name: world.name() });
      expectProblem(await client.put(address, { headers: JSON_TYPE, body }), 422);
      (await client.get(address)).expect(404);
    });
  }

  it('A1 receiving from an unknown queue is 404', async () => {
    const queue = await world.queue();
    (await client.delete(queue.address)).expect(204);
    for (const base of client.bases) {
      // Receivers on another node may be told that there is no message for the moment it takes the news to get there.
      await world.until(`404 on ${base}`, async () => {
        const { status } = (await client.post(`${base}${queue.receiving}`)).expect(204, 404);
        return status === 404;
      });
      expectProblem(await client.post(`${base}${queue.receiving}`), 404);
      expectProblem(await client.get(`${base}${queue.receiving}`), 404);
    }
    expectProblem(await client.get(queue.message('x')), 404);
    expectProblem(await client.delete(queue.message('x')), 404);
    (await client.get(queue.address)).expect(404);
  });

  it('A1 the idempotent PUT creates an unknown queue, too', async () => {
    const queue = await world.queue();
    (await client.delete(queue.address)).expect(204);
    (await client.put(queue.message('first'), { body: 'x' })).expect(201);
    assert.deepEqual(await world.drain(queue), ['x']);
  });

  it('A1 the direct post of a topic answers like a queue’s', async () => {
    const topic = await world.topic();
    const headers = { 'content-type': 'text/plain', 'x-mine': 'yes' };
    const answer = (await client.post(topic.address, { headers, body: 'news' })).expect(204);
    expectAbsolute(answer.headers.location, 'Location');
    assert.equal(answer.body.length, 0);
    const message = (await client.get(answer.headers.location)).expect(200);
    assert.equal(message.text(), 'news');
    assert.equal(message.headers['content-type'], 'text/plain');
    assert.equal(message.headers['x-mine'], 'yes');
    assert.equal(client.store(message.link('generator')), topic.address);
  });

  it('A1 many who create the same queue by posting end up with one queue', async () => {
    const name = world.name();
    const address = await world.address('queue', name);
    const texts = Array.from({ length: 12 }, (_, i) => `m${i}`);
    const posts = await Promise.all(texts.map((body) => client.post(address, { body })));
    for (const answer of posts) answer.expect(204);
    assert.deepEqual((await world.drain(await world.queueAt(name))).sort(), [...texts].sort());
  });

  it('A1 of many who create the same queue by POST, one gets 201 and the others 409', async () => {
    const name = world.name();
    await world.address('queue', name);
    const queues = await world.link('queues');
    const body = JSON.stringify({ name });
    const racing = Array.from({ length: 8 }, () => client.post(queues, { headers: JSON_TYPE, body }));
    const statuses = (await Promise.all(racing)).map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, ...Array(7).fill(409)]);
  });
}
