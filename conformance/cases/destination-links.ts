import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer } from '../client.ts';
import { allowed, expectAbsolute, lastingFields } from '../expect.ts';
import type { Link } from '../links.ts';
import { countsOf, follow, poll, settle } from '../steps.ts';
import { contentOfXml } from '../twins.ts';
import type { Destination, World } from '../world.ts';

const POSTING = ['post-message', 'post-message-once', 'post-batch', 'post-batch-once', 'message-factory'];
/** The relations of the tables; `subscribers` is judged where forwarding is. */
const RELATIONS = {
  queue: [...POSTING, 'poller', 'receiving', 'purge'],
  topic: [...POSTING, 'next', 'last', 'first'],
} as const;
/** The method by which each is used. */
const METHODS: Readonly<Record<string, string>> = { next: 'GET', first: 'GET', last: 'GET' };

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const XML = { 'content-type': 'application/xml' };
const JSON_TYPE = { 'content-type': 'application/json' };

export function destinationLinks(world: World): void {
  const { client } = world;
  const targets = (links: readonly Link[]) => links.map(({ rel, href }) => `${rel} ${href}`).sort();
  const read = async ({ address }: Destination) => (await client.get(address)).expect(200).json();

  for (const kind of ['queue', 'topic'] as const) {
    const make = (): Promise<Destination> => (kind === 'queue' ? world.queue() : world.topic());

    it(`A2 HEAD and GET of a ${kind} have every relation, once`, async () => {
      const { address } = await make();
      for (const method of ['HEAD', 'GET']) {
        const answer = (await client.send(method, address)).expect(200);
        for (const rel of RELATIONS[kind]) {
          assert.equal(answer.links.filter((link) => link.rel === rel).length, 1, `${answer.asked}: ${rel}`);
          expectAbsolute(answer.link(rel), rel);
        }
      }
    });

    it(`A2 HEAD of a ${kind} has the fields of GET, and the body of GET the links of both, in JSON and XML`, async () => {
      const url = `${client.bases[0]}${(await make()).address}`;
      const json = (await client.get(url)).expect(200);
      const xml = (await client.get(url, { headers: { accept: 'application/xml' } })).expect(200);
      assert.deepEqual(lastingFields((await client.head(url)).expect(200)), lastingFields(json));
      assert.deepEqual(targets(json.json<{ links: Link[] }>().links), targets(json.links));
      assert.deepEqual(targets(contentOfXml(xml.xml()).links), targets(json.links));
    });

    it(`A2 each link of a ${kind} leads to something that allows its method`, async () => {
      const head: Answer = (await client.head((await make()).address)).expect(200);
      for (const rel of RELATIONS[kind]) {
        const answer = (await client.send('OPTIONS', client.store(head.link(rel)))).expect(204);
        assert.ok(allowed(answer).includes(METHODS[rel] ?? 'POST'), `${rel}: ${answer.headers.allow}`);
      }
    });

    it(`A2 a ${kind} has no links of the other kind`, async () => {
      const head = (await client.head((await make()).address)).expect(200);
      const own: readonly string[] = RELATIONS[kind];
      for (const rel of [...RELATIONS.queue, ...RELATIONS.topic].filter((each) => !own.includes(each))) {
        assert.ok(!head.has(rel), rel);
      }
    });
  }

  it('A16 a queue that nothing died in has no dead-letter link, and none to redrive', async () => {
    const head = (await client.head((await world.queue()).address)).expect(200);
    for (const rel of ['dead-letter', 'redrive']) assert.ok(!head.has(rel), rel);
  });

  it('A16 a dead-letter queue that is there is linked, and links redrive itself', async () => {
    const dead = await world.queue();
    const queue = await world.queue({ 'dead-letter': dead.name, 'max-deliveries': 1 });
    await world.post(queue, ['x']);
    (await settle(client, (await poll(world, queue)).acknowledgement, { acknowledge: 'false' })).expect(204);
    await world.until('the message is dead', async () => (await countsOf(client, dead)).available === 1);
    const letters = await follow(world, queue, 'dead-letter');
    assert.equal(letters, dead.address);
    await world.until('redrive is linked', async () => (await client.head(letters)).has('redrive'));
    assert.ok(!(await client.head(letters)).has('dead-letter'));
  });

  it('A3 settings are set by PUT as a form, as XML and as JSON, and kept', async () => {
    const bodies = [
      { headers: FORM, body: 'lease=12.5&max-deliveries=3' },
      { headers: XML, body: '<queue><lease>12.5</lease><max-deliveries>3</max-deliveries></queue>' },
      { headers: JSON_TYPE, body: '{"lease":12.5,"max-deliveries":3}' },
    ];
    for (const body of bodies) {
      const queue = await world.queue({ ttl: 500 });
      (await client.put(queue.address, body)).expect(200);
      for (const _ of client.bases) {
        const document = await read(queue);
        assert.equal(document.lease, 12.5);
        assert.equal(document['max-deliveries'], 3);
        assert.equal(document.ttl, undefined, 'a setting left out has its default');
      }
    }
  });

  it('A3 settings of a topic are set by PUT and kept', async () => {
    const topic = await world.topic();
    const settings = { retention: 60.5, ttl: 30, 'max-length': 9, 'max-bytes': 5000 };
    (await client.put(topic.address, { headers: JSON_TYPE, body: JSON.stringify(settings) })).expect(200);
    for (const _ of client.bases) {
      const document = await read(topic);
      for (const [name, value] of Object.entries(settings)) assert.equal(document[name], value, name);
    }
  });

  it('A3 a document that was fetched and sent back changes nothing', async () => {
    const queue = await world.queue({ lease: 7, 'max-length': 5 });
    await world.post(queue, ['kept']);
    const before = (await client.get(queue.address)).expect(200);
    const { counts, links, ...document } = before.json();
    (await client.put(queue.address, { headers: JSON_TYPE, body: before.text() })).expect(200);
    const { counts: countsAfter, links: linksAfter, ...after } = await read(queue);
    assert.deepEqual(after, document);
    assert.deepEqual(countsAfter, counts);
    assert.deepEqual(await world.drain(queue), ['kept']);
  });

  it('A3 a lease that was changed holds for what is polled from then on', async () => {
    const queue = await world.queue({ lease: 0.2 });
    (await client.put(queue.address, { headers: JSON_TYPE, body: '{"lease":600}' })).expect(200);
    for (const base of client.bases) {
      // A node may learn of the change a moment later than the client.
      await world.until(`the lease holds on ${base}`, async () => {
        const [message = ''] = await world.post(queue, ['x']);
        const poller = (await client.head(`${base}${queue.address}`)).link('poller');
        const { acknowledgement } = await deliveryAt(poller);
        const until = (await client.get(acknowledgement)).expect(200).json()['leased-until'];
        (await client.delete(message)).expect(204);
        return Date.parse(String(until)) - Date.now() > 300_000;
      });
    }
  });

  it('A3 max-length holds for every way of posting', async () => {
    const queue = await world.queue({ 'max-length': 1 });
    await world.post(queue, ['only']);
    const head = await client.head(queue.address);
    (await client.post(client.store(head.link('post-message')), { body: 'x' })).expect(409);
    (await client.post(queue.address, { body: 'x' })).expect(409);
    (await client.put(queue.message('own'), { body: 'x' })).expect(409);
    assert.deepEqual(await world.drain(queue), ['only']);
    (await client.post(client.store(head.link('post-message')), { body: 'x' })).expect(201);
  });

  async function deliveryAt(poller: string): Promise<{ acknowledgement: string }> {
    const answer = (await client.post(poller, { headers: { 'accept-wait': '20' } })).expect(200);
    return { acknowledgement: answer.link('acknowledgement') };
  }
}
