import assert from 'node:assert/strict';
import { it } from 'node:test';
import { expectAbsolute, lastingFields, mediaType } from '../expect.ts';
import type { World } from '../world.ts';

export function root(world: World): void {
  const { client } = world;

  it('G1 the root answers 200 with links in header and body', async () => {
    const answer = (await client.root()).expect(200);
    assert.equal(mediaType(answer), 'application/json');
    for (const rel of ['queues', 'topics', 'service-desc', 'service-doc', 'status']) {
      expectAbsolute(answer.link(rel), `the link ${rel}`);
    }
    const { links } = answer.json<{ links: { rel: string; href: string }[] }>();
    assert.deepEqual(
      answer.links.map(({ rel, href }) => ({ rel, href })),
      links.map(({ rel, href }) => ({ rel, href })),
    );
  });

  it('G1 HEAD on the root tells the same as GET', async () => {
    const [base] = client.bases;
    const got = await client.get(`${base}/`);
    const headed = (await client.head(`${base}/`)).expect(200);
    assert.deepEqual(lastingFields(headed), lastingFields(got));
    assert.equal(headed.body.length, 0);
  });

  it('G1 templates give queues and topics by {name}', async () => {
    const answer = await client.root();
    for (const rel of ['queue', 'topic']) {
      const template = answer.template(rel);
      expectAbsolute(template.replace('{name}', 'x'), `the template ${rel}`);
      assert.equal(template.match(/\{[^}]*\}/g)?.join(), '{name}');
    }
  });

  it('G1 every relation of the root leads somewhere', async () => {
    for (const { rel, href } of (await client.root()).links) {
      const answer = await client.get(href);
      assert.ok(answer.status < 400, `${rel}: ${answer.asked} answered ${answer.status}`);
    }
  });

  it('G1 the status tells that the service is ready', async () => {
    const answer = (await client.get(await world.link('status'))).expect(200);
    assert.equal(answer.json().state, 'ready');
    assert.match(answer.headers['cache-control'] ?? '', /no-store/);
  });

  it('G2 links stand in one Link field with absolute URIs and quoted relations', async () => {
    const queue = await world.queue();
    for (const address of ['/', queue.address, await world.link('queues')]) {
      const answer = await client.get(address);
      assert.equal(answer.fields('link').length, 1, answer.asked);
      for (const { href } of answer.links) expectAbsolute(href, answer.asked);
      const relations = answer.headers.link?.match(/rel=./g) ?? [];
      assert.ok(relations.length > 0 && relations.every((each) => each === 'rel="'), String(answer.headers.link));
    }
  });

  it('G2 the links of a list’s items stand in the body only', async () => {
    const queue = await world.queue();
    const answer = await client.get(await world.link('queues'), { query: { per_page: 1000 } });
    const listed = answer.json<{ items: { links: { href: string }[] }[] }>().items;
    assert.ok(listed.length > 0);
    const headed = answer.links.map(({ href }) => client.store(href));
    assert.ok(!headed.includes(queue.address));
    for (const item of listed) for (const { href } of item.links) expectAbsolute(href, 'a link of an item');
  });

  it('G2 one resource has one address: a document’s self is where it was found', async () => {
    const queue = await world.queue();
    const topic = await world.topic();
    const addresses = ['/', queue.address, topic.address, await world.link('queues'), await world.link('status')];
    for (const address of addresses) {
      assert.equal(client.store((await client.get(address)).expect(200).link('self')), address);
    }
  });

  /** What stands before the path in the links of an answer. */
  async function baseFor(headers: Record<string, string>): Promise<string> {
    const answer = (await client.get(`${client.bases[0]}/`, { headers })).expect(200);
    const bases = new Set(answer.links.map(({ href }) => href.replace(/^(https?:\/\/[^/]+).*$/, '$1')));
    assert.equal(bases.size, 1, `one base in all links: ${[...bases]}`);
    return [...bases][0] ?? '';
  }

  it('G3 links carry the host the client asked for, or the one configured', async () => {
    const usual = await baseFor({});
    const named = await baseFor({ host: 'waypost.example:4711' });
    const another = await baseFor({ host: 'other.example' });
    const byHost = /^https?:\/\/waypost\.example:4711$/.test(named) && /^https?:\/\/other\.example$/.test(another);
    const configured = named === usual && another === usual;
    assert.ok(byHost || configured, `${usual}, ${named} and ${another}`);
  });

  it('G3 Forwarded and X-Forwarded-* of a client that is no trusted proxy are not believed', async () => {
    const usual = await baseFor({});
    assert.equal(await baseFor({ 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }), usual);
    assert.equal(await baseFor({ forwarded: 'host=evil.example;proto=https' }), usual);
  });

  it('G3 a Host that is no host name gets into no link', async () => {
    for (const host of ['evil.example/path', 'a b', 'a@b', '<x>']) {
      const answer = (await client.get(`${client.bases[0]}/`, { headers: { host } })).expect(400, 200);
      assert.ok(!answer.text().includes(host), host);
    }
  });

  it('G3 Location and Content-Location are absolute, too', async () => {
    const queue = await world.queue();
    const posted = (await client.post(queue.address, { body: 'x' })).expect(204);
    expectAbsolute(posted.headers.location, 'Location');
    const received = (await client.post(queue.receiving)).expect(200);
    expectAbsolute(received.headers['content-location'], 'Content-Location');
  });

  it('G3 an address with or without the host of another node leads to the same resource', async () => {
    const queue = await world.queue({ lease: 77 });
    for (const base of client.bases) {
      const answer = (await client.get(`${base}${queue.address}`)).expect(200);
      assert.equal(answer.json().lease, 77);
      assert.equal(client.store(answer.link('self')), queue.address);
    }
  });
}
