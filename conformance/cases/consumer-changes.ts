import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer } from '../client.ts';
import { consumerOf, consumerWorld } from '../consumer-world.ts';
import { expectAbsolute, expectProblem, mediaType } from '../expect.ts';
import type { World } from '../world.ts';

type Bulk = { state: string; total: number; done: number; items: { status: number; outcome: string }[] };

const URI_LIST = { 'content-type': 'text/uri-list' };

export function consumerChanges(world: World): void {
  const { client } = world;
  const { post, read, again, follow, consumer, grant, eventsFrom, uriOf } = consumerWorld(world);
  const terminateAll = async (): Promise<string> =>
    client.bases[0] + client.store((await read(await world.link('consumers'))).link('terminate'));
  const stateOf = async (answer: Answer): Promise<string> => consumerOf(await again(answer)).state;

  /** Where to read what is told from now on. */
  async function placeInEvents(): Promise<string> {
    const topic = (await read(await world.link('consumers'))).link('events');
    return client.store((await client.get(client.store(topic))).expect(200).link('next'));
  }
  const typesOf = (events: Answer[]): (string | undefined)[] =>
    events.map(({ headers }) => headers['ce-type']?.replace(/^waypost\./, ''));

  it('C8 many are terminated by one request, with an outcome for each', async () => {
    const made = [await consumer(), await consumer(), await consumer()];
    (await follow(made[2] as Answer, 'terminate')).expect(200);
    const lines = ['# three of ours and one that is not', ...made.map(uriOf), 'http://example.org/x'];
    const answer = (await client.post(await terminateAll(), { headers: URI_LIST, body: lines.join('\r\n') })).expect(
      200,
    );
    assert.deepEqual(
      answer.json<Bulk>().items.map(({ status, outcome }) => `${status} ${outcome}`),
      ['200 terminated', '200 terminated', '200 unchanged', '422 refused'],
    );
    for (const each of made) assert.equal(await stateOf(each), 'terminated');
    const other = await consumer();
    const byId = (await post(await terminateAll(), { ids: [consumerOf(other).id], reason: 'closed' })).expect(200);
    assert.equal(byId.json<Bulk>().items[0]?.outcome, 'terminated');
    assert.equal(consumerOf(await again(other)).terminated?.reason, 'closed');
    expectProblem(await client.post(await terminateAll(), { headers: URI_LIST, body: '' }), 422);
    expectProblem(
      await client.post(await terminateAll(), { headers: { 'content-type': 'text/plain' }, body: 'x' }),
      415,
    );
  });

  it('C8 with respond-async it is 202, and what came of it can be looked at', async () => {
    const made = [await consumer(), await consumer()];
    const body = made.map(uriOf).join('\r\n');
    const headers = { ...URI_LIST, prefer: 'respond-async' };
    const answer = (await client.post(await terminateAll(), { headers, body })).expect(202);
    expectAbsolute(answer.headers.location, 'Location');
    assert.ok(answer.headers['retry-after']);
    assert.match(answer.headers['preference-applied'] ?? '', /respond-async/);
    const job = client.store(answer.headers.location);
    await world.until(
      'the job is finished',
      async () => (await read(job)).expect(200).json<Bulk>().state === 'finished',
    );
    assert.equal((await read(job)).json<Bulk>().done, 2);
    for (const each of made) assert.equal(await stateOf(each), 'terminated');
  });

  it('C9 each change is told once, in order, with a link to what changed', async () => {
    const place = await placeInEvents();
    const made = await consumer();
    const granted = await grant(made);
    (await post(client.store(made.link('self')), { name: world.name() })).expect(200);
    (await post(client.store(made.link('self')), {})).expect(200);
    (await follow(made, 'terminate', { reason: 'gone' })).expect(200);
    const again = (await follow(made, 'terminate')).expect(200);
    (await follow(again, 'reinstate')).expect(200);
    (await follow(granted, 'terminate')).expect(200);
    const ours = [made, granted].map((each) => client.store(each.link('self')));
    const events = (await eventsFrom(place)).filter((event) => ours.includes(client.store(event.link('about'))));
    assert.deepEqual(typesOf(events), [
      'consumer.created',
      'entitlement.created',
      'consumer.updated',
      'consumer.terminated',
      'consumer.reinstated',
      'entitlement.terminated',
    ]);
    for (const event of events) {
      assert.equal(event.headers['ce-specversion'], '1.0');
      assert.ok(event.headers['ce-id'] && event.headers['ce-source'] && event.headers['ce-time']);
      assert.equal(mediaType(event), 'application/json');
      assert.equal(event.json<{ id: string }>().id.length, 36);
    }
    assert.equal(new Set(events.map(({ headers }) => headers['ce-id'])).size, events.length);
    assert.equal(client.store(events[1]?.link('about') ?? ''), ours[1]);
  });

  it('C9 a cascade is one event with a count', async () => {
    const made = await consumer();
    for (const product of ['a', 'b', 'c']) await grant(made, product);
    const place = await placeInEvents();
    (await follow(made, 'terminate')).expect(200);
    const self = client.store(made.link('self'));
    const events = (await eventsFrom(place)).filter((event) => event.text().includes(consumerOf(made).id));
    assert.deepEqual(typesOf(events), ['consumer.terminated']);
    assert.equal(client.store(events[0]?.link('about') ?? ''), self);
    assert.equal(events[0]?.json<{ entitlements: number }>().entitlements, 3);
  });

  it('C9 and B8 clients read the topic of events but do not write to it', async () => {
    const topic = client.store((await read(await world.link('consumers'))).link('events'));
    const answer = (await client.get(topic)).expect(200);
    assert.ok(!answer.has('post-message') && !answer.has('post-batch'), 'no link leads to what is forbidden');
    expectProblem(await client.post(topic, { body: 'x' }), 403);
    expectProblem(await client.delete(topic), 403);
  });
}
