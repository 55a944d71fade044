import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer } from '../client.ts';
import { expectProblem, mediaType } from '../expect.ts';
import { type Content, contentOfJson, contentOfXml, type Fields } from '../twins.ts';
import type { World } from '../world.ts';
import { ATOM } from '../xml.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/** Accept values and what a document is then served as. */
const CHOICES: [accept: string, type: string][] = [
  ['*/*', 'application/json'],
  ['application/*', 'application/json'],
  ['application/json', 'application/json'],
  ['application/xml', 'application/xml'],
  ['APPLICATION/XML', 'application/xml'],
  ['application/json;q=0.5, application/xml', 'application/xml'],
  ['application/xml;q=0.2, application/json;q=0.1', 'application/xml'],
  ['application/xml;q=0.1, */*;q=0.5', 'application/json'],
  ['application/json;q=0, */*', 'application/xml'],
  ['application/xml;q=0.9,*/*;q=0.8', 'application/xml'],
  ['image/png, application/xml;q=0.1', 'application/xml'],
  ['application/json; charset=utf-8', 'application/json'],
];

export function representations(world: World): void {
  const { client } = world;
  const get = (address: string, accept: string) => client.get(address, { headers: { accept } });

  /** One document of each kind that JSON is the default of. */
  async function documents(): Promise<{ address: string; item?: string }[]> {
    const queue = await world.queue({ ttl: 60, 'max-length': 5 });
    const topic = await world.topic({ retention: 5 });
    await world.post(queue, ['x']);
    return [
      { address: '/' },
      { address: await world.link('queues'), item: 'queue' },
      { address: await world.link('topics'), item: 'topic' },
      { address: await world.link('status') },
      { address: queue.address },
      { address: topic.address },
    ];
  }

  it('G4 without a telling Accept documents are JSON', async () => {
    for (const { address } of await documents()) {
      const answer = (await client.get(address)).expect(200);
      assert.equal(answer.headers['content-type'], 'application/json', answer.asked);
      assert.match(answer.headers.vary ?? '', /\baccept\b/i, answer.asked);
    }
  });

  it('G4 JSON and XML say the same', async () => {
    for (const { address, item } of await documents()) {
      // Both from one node: links carry the host that was asked.
      const url = `${client.bases[0]}${address}`;
      const query = item === undefined ? {} : { per_page: 3 };
      const json = await client.get(url, { headers: { accept: 'application/json' }, query });
      const xml = (await client.get(url, { headers: { accept: 'application/xml' }, query })).expect(200);
      assert.equal(mediaType(xml), 'application/xml');
      const [left, right] = [contentOfJson(json.json()), contentOfXml(xml.xml(), item)];
      if (item !== undefined) assert.ok(left.items.length > 0);
      assert.deepEqual(comparable(right), comparable(left), xml.asked);
      assert.deepEqual(xml.links, json.links, xml.asked);
    }
  });

  it('G4 links in XML are elements of the Atom namespace, all else has none', async () => {
    const queue = await world.queue();
    const element = (await get(queue.address, 'application/xml')).xml();
    assert.equal(element.name, 'queue');
    assert.equal(element.namespace, '');
    const links = element.children.filter(({ name }) => name === 'link');
    assert.ok(links.length > 0 && links.every(({ namespace }) => namespace === ATOM));
    const others = element.children.filter(({ name }) => name !== 'link');
    assert.ok(others.length > 0 && others.every(({ namespace }) => namespace === ''));
  });

  it('G4 a list is items and links in JSON, the plural around its elements in XML', async () => {
    await world.queue();
    const queues = await world.link('queues');
    const json = (await get(queues, 'application/json')).json();
    assert.ok(Array.isArray(json.items) && Array.isArray(json.links));
    const element = (await get(queues, 'application/xml')).xml();
    assert.equal(element.name, 'queues');
    assert.ok(element.children.some(({ name }) => name === 'queue'));
  });

  for (const [accept, type] of CHOICES) {
    it(`G4 Accept: ${accept} gives ${type}`, async () => {
      const queue = await world.queue();
      for (const address of [queue.address, await world.link('status')]) {
        assert.equal(mediaType((await get(address, accept)).expect(200)), type);
      }
    });
  }

  it('G4 a browser gets something at every document', async () => {
    for (const { address } of await documents()) (await get(address, BROWSER)).expect(200);
  });

  it('G4 an Accept that cannot be read does no harm', async () => {
    for (const accept of ['nonsense', ';;;', 'application/json;q=high', ',', '']) {
      const answer = await get(await world.link('status'), accept);
      assert.ok([200, 406].includes(answer.status), `${accept}: ${answer.status}`);
    }
  });

  it('G4 what cannot be served is 406, listing what can', async () => {
    for (const { address } of await documents()) {
      for (const accept of ['image/png', 'application/json;q=0, application/xml;q=0']) {
        const answer = await get(address, accept);
        expectProblem(answer, 406);
        assert.match(answer.text(), /application\/json/, answer.asked);
        assert.match(answer.text(), /application\/xml/, answer.asked);
      }
    }
  });

  it('G4 the description and the documentation are 406 to who wants something else', async () => {
    for (const rel of ['service-desc', 'service-doc']) {
      expectProblem(await get(await world.link(rel), 'image/png'), 406);
    }
    const description = (await get(await world.link('service-desc'), 'application/json')).expect(200);
    assert.match(mediaType(description), /^application\/(json|.*\+json)$/);
  });

  it('G4 creating answers in the representation asked for, too', async () => {
    const answer = await client.put(await world.address('queue', world.name()), {
      headers: { accept: 'application/xml' },
    });
    assert.equal(answer.expect(201).xml().name, 'queue');
  });

  it('G4 a write that was done is not answered 406, and one that is answered so was not done', async () => {
    const address = await world.address('queue', world.name());
    const { status } = await client.put(address, { headers: { accept: 'image/png' } });
    (await client.get(address)).expect(status === 406 ? 404 : 200);
    assert.ok(status === 406 || status === 201, `${status}`);
  });

  it('G4 message content ignores Accept: no message is lost to a 406', async () => {
    const queue = await world.queue();
    await world.post(queue, ['kept']);
    const received: Answer = await client.post(queue.receiving, { headers: { accept: 'image/png' } });
    assert.equal(received.expect(200).text(), 'kept');
    const address = client.store(received.headers['content-location'] ?? '');
    assert.equal((await get(address, 'application/xml')).expect(200).text(), 'kept');
  });
}

const WITH_TIME = ['uptime', 'milliseconds'];

/** Without what changes from one moment to the next. */
function comparable(content: Content): Content {
  const still = (fields: Fields): Fields =>
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => {
        if (WITH_TIME.includes(name)) return [name, 'changes'];
        return [name, typeof value === 'object' && !Array.isArray(value) ? still(value) : value];
      }),
    );
  return { fields: still(content.fields), links: content.links, items: content.items.map(comparable) };
}
