import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer } from '../client.ts';
import { mediaType } from '../expect.ts';
import { writeMultipart } from '../multipart.ts';
import { follow, linkOf, settle, stateOf, textBatch, textsOf, uriList } from '../steps.ts';
import type { Queue, World } from '../world.ts';
import { ATOM, childText, type Element } from '../xml.ts';

const ATOM_TYPE = 'application/atom+xml';
const MULTIPART = 'multipart/mixed';
const asFeed = { query: { max: 100 }, headers: { accept: ATOM_TYPE } };

/** What several messages come as, for what a client accepts. */
const CHOSEN: Record<string, string> = {
  [ATOM_TYPE]: ATOM_TYPE,
  'Application/Atom+XML; type=feed': ATOM_TYPE,
  'application/atom+xml, */*': ATOM_TYPE,
  'application/atom+xml;q=0.9, multipart/mixed;q=0.8': ATOM_TYPE,
  'application/atom+xml;q=0.5, multipart/*;q=0.1': ATOM_TYPE,
  'application/atom+xml, multipart/mixed': MULTIPART,
  'application/atom+xml;q=0.8, multipart/mixed;q=0.9': MULTIPART,
  'application/atom+xml;q=0.8, */*': MULTIPART,
  'application/atom+xml;q=0': MULTIPART,
  'application/atom+xml; type=entry': MULTIPART,
  '*/*': MULTIPART,
  'application/*': MULTIPART,
  'application/xml': MULTIPART,
  'image/png': MULTIPART,
  'not readable': MULTIPART,
};

/** Contents in which a careless writer or reader of feeds goes wrong. */
const AWKWARD: [type: string | undefined, body: string | Buffer][] = [
  ['text/plain', 'a < b & c ]]> ünï ✓\n  kept  '],
  ['text/plain;charset=utf-8', ''],
  ['text/plain', 'lines\r\nof\rold\n'],
  ['text/plain', Buffer.from([0xff, 0xfe, 0, 0xc3, 0x28])],
  ['text/plain; charset=iso-8859-1', Buffer.from([0xe9])],
  ['text/html', '<p class="a">one &amp; two</p>'],
  ['text/csv; header=present', 'a,b\n1,2'],
  ['application/json', '{"n": 7}'],
  ['application/xml', '<order n="6"><item>x</item></order>'],
  ['application/xml', '<?xml version="1.0"?>\n<order/>\n'],
  ['image/svg+xml', '<s:svg xmlns:s="urn:x" s:w="1"><g/></s:svg>'],
  ['text/xml', 'not XML'],
  ['multipart/mixed; boundary=b', '--b\r\n\r\nx\r\n--b--\r\n'],
  ['no media type', 'x'],
  ['image/png', Buffer.from(Array.from({ length: 256 }, (_, i) => i))],
  [undefined, 'untyped'],
];

const bytesOf = (body: string | Buffer): Buffer => (typeof body === 'string' ? Buffer.from(body) : body);

/** The entries of a feed, after it was found to be one. */
function entriesOf(answer: Answer): Element[] {
  assert.equal(mediaType(answer), ATOM_TYPE, answer.asked);
  const feed = answer.xml();
  assert.deepEqual([feed.name, feed.namespace], ['feed', ATOM]);
  const entries = feed.children.filter(({ name }) => name === 'entry');
  for (const element of [feed, ...entries]) {
    assert.equal(element.namespace, ATOM);
    for (const name of ['id', 'title', 'updated']) {
      assert.equal(element.children.filter((child) => child.name === name && child.namespace === ATOM).length, 1, name);
    }
    assert.ok(URL.canParse(childText(element, 'id') ?? ''), 'an id is a URI');
    assert.match(childText(element, 'updated') ?? '', /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  }
  return entries;
}

const linksIn = ({ children }: Element): { rel: string; href: string }[] =>
  children
    .filter(({ name, namespace }) => name === 'link' && namespace === ATOM)
    .map(({ attributes: { rel = '', href = '' } }) => ({ rel, href }));

const hrefIn = (element: Element, rel: string): string =>
  linksIn(element).find((link) => link.rel === rel)?.href ?? assert.fail(`no link "${rel}"`);

function fieldOf({ children }: Element, wanted: string): string | undefined {
  const fields = children.filter(({ name, namespace }) => name === 'field' && namespace !== ATOM);
  return fields.find(({ attributes: { name = '' } }) => name.toLowerCase() === wanted)?.text;
}

/** The text of an entry that has one. */
function textIn(entry: Element): string {
  const content = entry.children.find(({ name }) => name === 'content');
  assert.match(content?.attributes.type ?? '', /^text\//);
  return content?.text ?? '';
}

export function atomAnswers(world: World): void {
  const { client } = world;

  /** A queue with one message for each of the awkward contents. */
  async function awkwardQueue(): Promise<Queue> {
    const queue = await world.queue();
    const { contentType, body } = writeMultipart(
      AWKWARD.map(([type, each]) => ({ headers: type === undefined ? {} : { 'Content-Type': type }, body: each })),
    );
    const headers = { 'content-type': contentType };
    (await client.post(await follow(world, queue, 'post-batch'), { headers, body })).expect(201);
    return queue;
  }

  it('A13 several messages come as a feed to whoever prefers that by name, and as multipart/mixed to all others', async () => {
    const [queue, topic] = [await world.queue(), await world.topic()];
    const next = await follow(world, topic, 'next');
    for (const to of [queue, topic]) await world.post(to, ['a']);
    for (const [accept, type] of Object.entries(CHOSEN)) {
      for (const from of [queue.receiving, next]) {
        const answer = (await client.get(from, { query: { max: 2 }, headers: { accept } })).expect(200);
        assert.equal(mediaType(answer), type, accept);
        assert.match(answer.headers.vary ?? '', /\baccept\b/i);
        assert.match(answer.headers['cache-control'] ?? '', /no-store/);
      }
    }
  });

  it('A13 Accept never costs a message, and chooses nothing where there is no max', async () => {
    const queue = await world.queue();
    await world.post(queue, ['a', 'b', 'c']);
    const headers = { accept: 'image/png, application/atom+xml;q=0' };
    assert.deepEqual(textsOf((await client.post(queue.receiving, { query: { max: 1 }, headers })).expect(200)), ['a']);
    const one = (await client.post(queue.receiving, { headers: asFeed.headers })).expect(200);
    assert.deepEqual([one.headers['content-type'], one.text()], ['text/plain', 'b']);
    assert.deepEqual(await world.drain(queue), ['c']);
    const none = (await client.post(queue.receiving, asFeed)).expect(204);
    assert.match(none.headers.vary ?? '', /\baccept\b/i);
    assert.equal(linkOf(client, none, 'receiving'), queue.receiving);
  });

  it('A13 a feed has an entry for each message taken, with its fields, its links and its content', async () => {
    const queue = await world.queue();
    const reply = await world.queue();
    // Nodes need not know each other's addresses, so one of them is told its own.
    const at = ({ address }: Queue): string => `${client.bases[0]}${address}`;
    const target = at(reply);
    const link = `<${target}>; rel="reply-to"; title="<Büro>", <http://e.example/>; rel="urn:x:y"; type="text/html"`;
    const headers = { 'content-type': 'text/plain', 'x-mine': 'a < "b"', link: Buffer.from(link).toString('latin1') };
    const posted = (await client.post(at(queue), { headers, body: 'one' })).expect(204);
    const message = client.store(posted.headers.location ?? '');
    await world.post(queue, ['two', 'three']);

    const answer = (await client.post(queue.receiving, { ...asFeed, query: { max: 2 } })).expect(200);
    const entries = entriesOf(answer);
    assert.deepEqual(entries.map(textIn), ['one', 'two']);
    const [one, two] = entries;
    assert.ok(one && two);
    assert.equal(client.store(childText(answer.xml(), 'id') ?? ''), queue.address);
    assert.equal(client.store(childText(one, 'id') ?? ''), message);
    assert.equal(childText(one, 'title'), fieldOf(one, 'message-id'));
    assert.equal(childText(one, 'updated'), fieldOf(one, 'message-posted'));
    assert.equal(fieldOf(one, 'message-state'), 'acknowledged');
    assert.equal(fieldOf(one, 'delivery-count'), '1');
    assert.equal(fieldOf(one, 'x-mine'), 'a < "b"');
    assert.equal(fieldOf(two, 'x-mine'), undefined);
    for (const name of ['link', 'content-type']) assert.equal(fieldOf(one, name), undefined, name);

    // What the message's own address tells of its links, the entry tells, too.
    const own = (await client.get(message)).expect(200);
    assert.deepEqual(
      linksIn(one).map(({ rel, href }) => [rel, client.store(href)]),
      own.links.map(({ rel, href }) => [rel, client.store(href)]),
    );
    for (const rel of ['self', 'generator']) (await client.get(hrefIn(one, rel))).expect(200);
    (await client.post(hrefIn(one, 'reply-to'), { body: 'answer' })).expect(201, 204);
    (await client.post(hrefIn(one, 'reply-to-batch'), textBatch(['more']))).expect(201);
    for (const rel of ['reply-to-once', 'reply-to-batch-once']) (await client.post(hrefIn(one, rel))).expect(200);
    assert.deepEqual(await world.drain(reply), ['answer', 'more']);
    assert.equal(linkOf(client, answer, 'receiving'), client.store(hrefIn(answer.xml(), 'receiving')));
    assert.deepEqual(await world.drain(queue), ['three']);
  });

  it('A13 looking takes nothing', async () => {
    const queue = await world.queue();
    await world.post(queue, ['a', 'b']);
    const entries = entriesOf((await client.get(queue.receiving, asFeed)).expect(200));
    assert.deepEqual(entries.map(textIn), ['a', 'b']);
    for (const entry of entries) assert.equal(fieldOf(entry, 'message-state'), 'available');
    assert.deepEqual(await world.drain(queue), ['a', 'b']);
  });

  it('A14 each entry of the poller is settled by its own link', async () => {
    const queue = await world.queue();
    const [a = '', b = ''] = await world.post(queue, ['a', 'b']);
    const entries = entriesOf((await client.post(await follow(world, queue, 'poller'), asFeed)).expect(200));
    assert.deepEqual(entries.map(textIn), ['a', 'b']);
    const [first, second] = entries.map((entry) => client.store(hrefIn(entry, 'acknowledgement')));
    assert.ok(first && second);
    (await settle(client, first, { acknowledge: 'true' })).expect(204);
    (await settle(client, second, { acknowledge: 'false' })).expect(204);
    assert.deepEqual([await stateOf(client, a), await stateOf(client, b)], ['acknowledged', 'available']);
    assert.deepEqual(await world.drain(queue), ['b']);
  });

  it('A17 a topic is read feed by feed, from the last entry on or from between', async () => {
    const topic = await world.topic();
    const next = await follow(world, topic, 'next');
    await world.post(topic, ['a', 'b', 'c', 'd', 'e']);
    const read = async (from: string) => (await client.get(from, { ...asFeed, query: { max: 2 } })).expect(200, 204);
    const texts: string[] = [];
    let answer = await read(next);
    const [between] = entriesOf(answer);
    for (; answer.status === 200; answer = await read(linkOf(client, answer, 'next'))) {
      texts.push(...entriesOf(answer).map(textIn));
      assert.equal(hrefIn(answer.xml(), 'next'), answer.link('next'));
    }
    assert.deepEqual(texts, ['a', 'b', 'c', 'd', 'e']);
    assert.ok(between);
    assert.deepEqual(entriesOf(await read(hrefIn(between, 'next'))).map(textIn), ['b', 'c']);
  });

  it('G4 events are weighed against the feed that would come instead', async () => {
    const topic = await world.topic();
    const next = await follow(world, topic, 'next');
    await world.post(topic, ['a']);
    const headers = { accept: 'text/event-stream;q=0.5, application/atom+xml' };
    assert.equal(entriesOf((await client.get(next, { query: { max: 2 }, headers })).expect(200)).length, 1);
  });

  it('A13 a feed that was received is a feed that can be posted: the same types and bytes', async () => {
    const [queue, other] = [await awkwardQueue(), await world.queue()];
    const received = (await client.post(queue.receiving, asFeed)).expect(200);
    assert.equal(entriesOf(received).length, AWKWARD.length);
    const again = { headers: { 'content-type': received.headers['content-type'] ?? '' }, body: received.body };
    const posted = (await client.post(await follow(world, other, 'post-batch'), again)).expect(201);
    const messages = uriList(client, posted);
    assert.equal(messages.length, AWKWARD.length);
    for (const [i, message] of messages.entries()) {
      const [type, body = ''] = AWKWARD[i] ?? [];
      const answer = (await client.get(message)).expect(200);
      assert.equal(answer.headers['content-type'], type, `type ${i}`);
      assert.ok(answer.body.equals(bytesOf(body)), `body ${i}: ${answer.text()}`);
    }
  });

  it('A13 content stands in a feed as RFC 4287 says', async () => {
    const entries = entriesOf((await client.get((await awkwardQueue()).receiving, asFeed)).expect(200));
    for (const [i, entry] of entries.entries()) {
      const [own, body = ''] = AWKWARD[i] ?? [];
      const [content, ...rest] = entry.children.filter(
        ({ name, namespace }) => name === 'content' && namespace === ATOM,
      );
      assert.ok(content && rest.length === 0);
      const { type = '' } = content.attributes;
      assert.match(type, /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w-]+)*$/);
      assert.doesNotMatch(type, /^(?:multipart|message)\//i, 'no composite type');
      if (/[+/]xml$/.test(type)) assert.equal(content.children.length, 1);
      else if (type.startsWith('text/')) {
        assert.deepEqual([content.children, content.text], [[], bytesOf(body).toString()]);
      } else {
        assert.ok(Buffer.from(content.text, 'base64').equals(bytesOf(body)));
        assert.ok(childText(entry, 'summary'), 'who cannot read base64 reads a summary');
        const named = Object.entries(content.attributes).find(([name]) => name.endsWith(':content-type'))?.[1];
        assert.equal(named ?? (own === undefined ? undefined : type), own);
      }
    }
  });
}
