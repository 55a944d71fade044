import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer, Options } from '../client.ts';
import { expectProblem, mediaType } from '../expect.ts';
import { follow, uriList } from '../steps.ts';
import type { Destination, World } from '../world.ts';
import { childText, escapeXml, parseXml } from '../xml.ts';

const ATOM_TYPE = 'application/atom+xml';
const XHTML = 'http://www.w3.org/1999/xhtml';
const MOST = 1000;

const feed = (...entries: string[]): Options => ({
  headers: { 'content-type': ATOM_TYPE },
  body: `<feed xmlns="http://www.w3.org/2005/Atom">${entries.map((each) => `<entry>${each}</entry>`).join('')}</feed>`,
});

const GOOD = '<content>good</content>';
const BINARY = Buffer.from(Array.from({ length: 256 }, (_, i) => 255 - i));

/** Contents of one entry that are refused with all others. */
const WRONG: Record<string, string> = {
  'no content': '<title>only a title</title>',
  'two contents': '<content>a</content><content>b</content>',
  'content by src': '<content type="image/png" src="http://pictures.example/cat.png"/>',
  'content by src of this very type': '<content src="http://texts.example/a.txt"/>',
  'base64 that is none': '<content type="application/json">{"n": 7}</content>',
  'base64 cut short': '<content type="application/octet-stream">AAE</content>',
  'elements in base64': '<content type="application/octet-stream">AA<b/>E=</content>',
  'elements in a text': '<content type="text">a <b>bold</b> word</content>',
  'elements in html': '<content type="html"><p>markup is escaped</p></content>',
  'xhtml that is no div': `<content type="xhtml"><p xmlns="${XHTML}">x</p></content>`,
  'xhtml without its namespace': '<content type="xhtml"><div>x</div></content>',
  'an XML type without an element': '<content type="application/xml">text</content>',
  'an XML type with two': '<content type="application/xml"><a/><b/></content>',
  'a type that is none': '<content type="sound">x</content>',
};

export function atomBatches(world: World): void {
  const { client } = world;
  const batchLink = (to: Destination) => follow(world, to, 'post-batch');

  /** Posts entries to a new queue and gives the messages, one by one. */
  async function messagesOf(options: Options): Promise<Answer[]> {
    const queue = await world.queue();
    const messages = uriList(client, (await client.post(await batchLink(queue), options)).expect(201));
    return Promise.all(messages.map(async (each) => (await client.get(each)).expect(200)));
  }

  it('A13 each entry becomes a message: 201 and the uri-list in the order of the entries', async () => {
    for (const to of [await world.queue(), await world.topic()]) {
      const options = feed('<content>one</content>', '<content>two</content>', '<content>three</content>');
      const messages = uriList(client, (await client.post(await batchLink(to), options)).expect(201));
      const texts = await Promise.all(messages.map(async (each) => (await client.get(each)).expect(200).text()));
      assert.deepEqual(texts, ['one', 'two', 'three']);
    }
  });

  it('A13 content without a type and of type text is text/plain', async () => {
    const text = 'a < b & c, ünï ✓\n  kept  ';
    const options = feed(
      `<content>${escapeXml(text)}</content>`,
      `<content type="text">${escapeXml(text)}</content>`,
      '<content type="text"><![CDATA[<b>&amp;]]></content>',
      '<content>&#x41;&#10;&lt;</content>',
      '<content/>',
    );
    const messages = await messagesOf(options);
    for (const message of messages) assert.equal(mediaType(message), 'text/plain');
    const texts = messages.map((message) => message.text());
    assert.deepEqual(texts, [text, text, '<b>&amp;', 'A\n<', '']);
  });

  it('A13 content of type html is text/html, with its markup as it was meant', async () => {
    const html = '<p class="a">one &amp; two</p>';
    const [message] = await messagesOf(feed(`<content type="html">${escapeXml(html)}</content>`));
    assert.ok(message);
    assert.equal(mediaType(message), 'text/html');
    assert.equal(message.text(), html);
  });

  it('A13 content of type xhtml is application/xhtml+xml: the div', async () => {
    const inside = 'one <b>bold</b> &amp; <br/>';
    const options = feed(
      `<content type="xhtml"><div xmlns="${XHTML}">${inside}</div></content>`,
      `<content type="xhtml" xmlns:h="${XHTML}"> <h:div>prefixed</h:div> </content>`,
    );
    const messages = await messagesOf(options);
    for (const message of messages) {
      assert.equal(mediaType(message), 'application/xhtml+xml');
      const root = message.xml();
      assert.deepEqual([root.name, root.namespace], ['div', XHTML]);
    }
    assert.match(messages[0]?.text() ?? '', /one <b[ >]/);
    assert.match(messages[1]?.text() ?? '', /prefixed/);
  });

  it('A13 a media type is itself: text as text, XML as its element, anything else base64', async () => {
    const options = feed(
      '<content type="text/csv; header=present">a,b&#10;1,2</content>',
      '<content type="application/xml"><order n="6"><item>x</item></order></content>',
      '<content type="image/svg+xml"><s:svg xmlns:s="urn:x" s:w="1"/></content>',
      `<content type="application/json">${Buffer.from('{"n": 7}').toString('base64')}</content>`,
      `<content type="image/png">\n  ${BINARY.toString('base64').replace(/(.{60})/g, '$1\n  ')}\n</content>`,
    );
    const [csv, xml, svg, json, png] = await messagesOf(options);
    assert.ok(csv && xml && svg && json && png);
    assert.equal(csv.headers['content-type'], 'text/csv; header=present');
    assert.equal(csv.text(), 'a,b\n1,2');
    assert.equal(xml.headers['content-type'], 'application/xml');
    assert.deepEqual([xml.xml().name, childText(xml.xml(), 'item')], ['order', 'x']);
    assert.equal(svg.headers['content-type'], 'image/svg+xml');
    assert.deepEqual([svg.xml().name, svg.xml().namespace], ['svg', 'urn:x']);
    assert.equal(json.headers['content-type'], 'application/json');
    assert.deepEqual(json.json(), { n: 7 });
    assert.equal(png.headers['content-type'], 'image/png');
    assert.ok(png.body.equals(BINARY));
  });

  it('A13 an element that is taken out of the feed keeps its namespaces', async () => {
    const body =
      '<a:feed xmlns:a="http://www.w3.org/2005/Atom" xmlns:o="urn:orders"><a:entry><a:content type="application/xml">' +
      '<o:order o:n="1"><o:item/></o:order></a:content></a:entry></a:feed>';
    const [message] = await messagesOf({ headers: { 'content-type': ATOM_TYPE }, body });
    const root = parseXml(message?.text() ?? '');
    assert.deepEqual([root.name, root.namespace], ['order', 'urn:orders']);
  });

  it('A13 only content is required; all else of a feed is let pass', async () => {
    const body = `<?xml version="1.0" encoding="utf-8"?>
      <feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>Orders</title><id>urn:uuid:1</id><updated>2024-01-01T00:00:00Z</updated>
      <link rel="self" href="http://feeds.example/orders"/><x:more xmlns:x="urn:x"/>
      <entry><id>urn:uuid:2</id><title>One</title><author><name>A</name></author><summary>s</summary>${GOOD}</entry></feed>`;
    const type = 'application/atom+xml; type=feed; charset=utf-8';
    const messages = await messagesOf({ headers: { 'content-type': type }, body });
    assert.deepEqual(
      messages.map((message) => message.text()),
      ['good'],
    );
  });

  for (const [what, entry] of Object.entries(WRONG)) {
    it(`A13 ${what}: 422 that says which message it is, and nothing is stored`, async () => {
      const queue = await world.queue();
      const answer = await client.post(await batchLink(queue), feed(GOOD, GOOD, entry, GOOD));
      const problem = expectProblem(answer, 422);
      assert.match(problem.detail, /\b(message|entry) 3\b/);
      assert.ok(problem.errors?.length, 'errors point at it');
      (await client.get(queue.receiving)).expect(204);
    });
  }

  it('A13 XML that cannot be read is 400, XML that is no feed 422, a feed without entries is refused', async () => {
    const queue = await world.queue();
    const to = await batchLink(queue);
    const send = (body: string) => client.post(to, { headers: { 'content-type': ATOM_TYPE }, body });
    const atom = 'xmlns="http://www.w3.org/2005/Atom"';
    for (const body of ['', '<feed', `<!DOCTYPE feed><feed ${atom}><entry>${GOOD}</entry></feed>`, 'text']) {
      expectProblem(await send(body), 400);
    }
    for (const body of [`<entry ${atom}>${GOOD}</entry>`, `<feed xmlns="urn:x"><entry>${GOOD}</entry></feed>`]) {
      expectProblem(await send(body), 422);
    }
    expectProblem(await send(`<feed ${atom}/>`), 400, 422);
    assert.deepEqual(await world.drain(queue), []);
  });

  it(`A13 ${MOST} entries are a batch, one more is 413 and stores nothing`, async () => {
    const queue = await world.queue();
    const entries = Array.from({ length: MOST }, (_, i) => `<content>m${i}</content>`);
    expectProblem(await client.post(await batchLink(queue), feed(...entries, GOOD)), 413);
    (await client.get(queue.receiving)).expect(204);
    const answer = (await client.post(await batchLink(queue), feed(...entries))).expect(201);
    assert.equal(new Set(uriList(client, answer)).size, MOST);
  });
}
