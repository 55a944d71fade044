import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer, Options } from '../client.ts';
import { expectProblem, expectXmlProblem, mediaType } from '../expect.ts';
import type { World } from '../world.ts';
import { childText } from '../xml.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const JSON_TYPE = { 'content-type': 'application/json' };

export function problems(world: World): void {
  const { client } = world;

  /** One failure of each kind that a stranger can bring about. */
  async function failures(headers: Record<string, string> = {}): Promise<{ status: number; answer: Answer }[]> {
    const queue = await world.queue();
    await world.post(queue, ['x']);
    const unknown = await world.address('queue', world.name('unknown'));
    const queues = await world.link('queues');
    const wanted: [number, string, string, Options][] = [
      [400, 'GET', queues, { query: { per_page: 0 } }],
      [400, 'POST', queues, { headers: JSON_TYPE, body: '{' }],
      [400, 'POST', queue.receiving, { headers: { 'accept-wait': 'long' } }],
      [404, 'GET', unknown, {}],
      [404, 'GET', queue.message(world.name('unknown')), {}],
      [405, 'PATCH', '/', {}],
      [409, 'DELETE', queue.address, {}],
      [412, 'PUT', queue.address, { headers: { 'if-match': '"other"' } }],
      [415, 'POST', queues, { headers: { 'content-type': 'text/plain' }, body: 'x' }],
      [422, 'POST', queues, { headers: FORM, body: 'lease=5' }],
    ];
    const answers: { status: number; answer: Answer }[] = [];
    for (const [status, method, address, options] of wanted) {
      const answer = await client.send(method, address, { ...options, headers: { ...options.headers, ...headers } });
      answers.push({ status, answer });
    }
    return answers;
  }

  it('G5 every failure is a problem document', async () => {
    for (const { status, answer } of await failures()) expectProblem(answer, status);
  });

  it('G5 a client that asks for XML gets problems in XML, with the same members', async () => {
    for (const { status, answer } of await failures({ accept: 'application/xml' })) expectXmlProblem(answer, status);
    const queues = await world.link('queues');
    const json = expectProblem(await client.get(queues, { query: { per_page: 0 } }), 400);
    const asXml = { headers: { accept: 'application/xml' }, query: { per_page: 0 } };
    const xml = expectXmlProblem(await client.get(queues, asXml), 400);
    assert.equal(childText(xml, 'title'), json.title);
    assert.equal(childText(xml, 'detail'), json.detail);
    const errors = xml.children.find(({ name }) => name === 'errors');
    assert.equal(errors?.children.length, json.errors?.length);
  });

  it('G5 who accepts neither still gets a problem', async () => {
    for (const { status, answer } of await failures({ accept: 'image/png' })) expectProblem(answer, status);
  });

  it('G5 the type of each problem is a page of help for machines and people', async () => {
    const types = new Set<string>();
    for (const { answer } of await failures()) types.add(answer.json<{ type: string }>().type);
    assert.ok(types.size >= 7, `${types.size} kinds`);
    for (const type of types) {
      assert.notEqual(client.store(type), type, `${type} is served by the service itself`);
      const page = (await client.get(type, { headers: { accept: 'text/html' } })).expect(200);
      assert.equal(mediaType(page), 'text/html');
      const { title, help } = (await client.get(type)).expect(200).json();
      assert.ok(title && help, type);
      assert.ok(page.text().includes(String(title)), type);
    }
  });

  it('G5 the type is stable: the same problem has the same type, its own title and status', async () => {
    const first = expectProblem(await client.get(await world.address('queue', world.name())), 404);
    const second = expectProblem(await client.get(await world.address('topic', world.name())), 404);
    assert.equal(client.store(first.type), client.store(second.type));
    assert.equal(first.title, second.title);
  });

  it('G5 every answer has an id of its own, also a good one, whatever the client sends', async () => {
    const headers = { 'x-request-id': '00000000-0000-4000-8000-000000000000' };
    const ids = new Set<string | undefined>();
    for (let i = 0; i < 3; i++) ids.add((await client.get('/', { headers })).headers['x-request-id']);
    assert.equal(ids.size, 3);
    assert.ok(!ids.has(undefined));
    const unknown = await world.address('queue', world.name());
    expectProblem(await client.get(unknown, { headers }), 404);
  });

  it('G5 field errors point at what is wrong', async () => {
    const queues = await world.link('queues');
    const body = JSON.stringify({ name: world.name(), lease: 'soon', 'max-deliveries': 0, colour: 'red' });
    const fields = expectProblem(await client.post(queues, { headers: JSON_TYPE, body }), 422);
    assert.deepEqual(fields.errors?.map(({ pointer }) => pointer).sort(), ['/colour', '/lease', '/max-deliveries']);
    for (const { detail } of fields.errors ?? []) assert.ok(detail);
    const query = expectProblem(await client.get(queues, { query: { per_page: 'x' } }), 400);
    assert.deepEqual(
      query.errors?.map(({ parameter }) => parameter),
      ['per_page'],
    );
    const queue = await world.queue();
    const header = expectProblem(await client.post(queue.receiving, { headers: { 'accept-wait': 'x' } }), 400);
    assert.deepEqual(
      header.errors?.map((each) => each.header?.toLowerCase()),
      ['accept-wait'],
    );
  });

  it('G5 a problem answers HEAD with its fields and no body', async () => {
    const answer = (await client.head(await world.address('queue', world.name()))).expect(404);
    assert.equal(mediaType(answer), 'application/problem+json');
    assert.equal(answer.body.length, 0);
    assert.ok(answer.headers['x-request-id']);
  });

  it('G5 a problem is not kept by caches', async () => {
    const answer = await client.get(await world.address('queue', world.name()));
    assert.match(answer.expect(404).headers['cache-control'] ?? '', /no-store/);
  });
}
