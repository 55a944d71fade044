import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fc } from '../../../testing/properties.ts';
import { AtomError, readAtomFeed, readAtomLink, readAtomLinks } from './atom.ts';
import { WAYPOST } from './atom-content.ts';
import { ATOM, parseXml, renderXml, type XmlNode } from './xml.ts';

const feed = (...contents: string[]) =>
  parseXml(
    `<feed xmlns="${ATOM}" xmlns:s="urn:s"><title>x</title>${contents.map((c) => `<entry>${c}</entry>`).join('')}</feed>`,
  );

function only(content: string): { contentType: string | null; body: string } {
  const [message, ...rest] = readAtomFeed(feed(content));
  assert.ok(message);
  assert.equal(rest.length, 0);
  return { contentType: message.contentType, body: message.body.toString('latin1') };
}

describe('readAtomFeed', () => {
  test('reads text and html', () => {
    const utf8 = Buffer.from(' a <b> é\n').toString('latin1');
    assert.deepEqual(only('<content> a &lt;b&gt; é\n</content>'), {
      contentType: 'text/plain;charset=utf-8',
      body: utf8,
    });
    assert.deepEqual(only('<id>1</id><content type="text"/>'), { contentType: 'text/plain;charset=utf-8', body: '' });
    assert.deepEqual(only('<content type="html">&lt;p>x</content>'), { contentType: 'text/html', body: '<p>x' });
    assert.deepEqual(only('<content type="text/csv; header=present">a,b</content>'), {
      contentType: 'text/csv; header=present',
      body: 'a,b',
    });
  });

  test('reads XML with the namespaces it needs', () => {
    assert.deepEqual(
      only('<content type="xhtml"> <div xmlns="http://www.w3.org/1999/xhtml">a<b>c</b>d</div> </content>'),
      {
        contentType: 'application/xhtml+xml',
        body: '<div xmlns="http://www.w3.org/1999/xhtml" xmlns:s="urn:s">a<b>c</b>d</div>',
      },
    );
    assert.deepEqual(only('<content type="application/tx+xml"><transaction xmlns="" state="s:x"/></content>'), {
      contentType: 'application/tx+xml',
      body: '<transaction xmlns:s="urn:s" state="s:x"/>',
    });
    assert.equal(
      only('<content type="text/xml"><s:a s:b="1" xml:lang="en"/></content>').body,
      `<s:a xmlns="${ATOM}" xmlns:s="urn:s" s:b="1" xml:lang="en"/>`,
    );
  });

  test('decodes base64 strictly', () => {
    assert.deepEqual(only('<content type="image/png">\n iVBO\nRw==\n</content>'), {
      contentType: 'image/png',
      body: Buffer.from('iVBORw==', 'base64').toString('latin1'),
    });
    for (const bad of ['iVBORw', 'iVBORw=', 'iVBORx==', '{"a":1}', 'iVB-Rw==', '=', '<a/>']) {
      assert.throws(() => only(`<content type="application/json">${bad}</content>`), /entry 1: .*base64/, bad);
    }
  });

  test('names the bad entry', () => {
    const good = '<content>a</content>';
    const bad: [string, RegExp][] = [
      ['<title>only</title>', /no content/],
      [good + good, /more than one content/],
      ['<content src="http://a/"/>', /src/],
      ['<content>a<b/></content>', /must be text/],
      ['<content type="html"><p>a</p></content>', /must be text/],
      ['<content type="xhtml"><p xmlns="http://www.w3.org/1999/xhtml"/></content>', /div/],
      ['<content type="xhtml">text</content>', /exactly one element/],
      ['<content type="application/xml"><a/><b/></content>', /exactly one element/],
      ['<content type="application/xml"><a/>b</content>', /exactly one element/],
      ['<content type="nonsense">a</content>', /media type/],
      ['<content type="text/*">a</content>', /media type/],
      ['<content type="text/plain&#13;&#10;X: y">a</content>', /media type/],
      ['<content type="text/plüin">a</content>', /media type/],
      ['<content type="text/plain; charset=iso-8859-1">a</content>', /charset/],
      [`<content xmlns:w="${WAYPOST}" type="text" w:content-type="a/b">a</content>`, /octet-stream/],
      [`<content xmlns:w="${WAYPOST}" w:untyped="true">a</content>`, /octet-stream/],
      [`<content xmlns:w="${WAYPOST}" type="application/octet-stream" w:untyped="no"/>`, /untyped/],
      [
        `<content xmlns:w="${WAYPOST}" type="application/octet-stream" w:untyped="true" w:content-type="a/b"/>`,
        /exclude/,
      ],
      [
        `<content xmlns:w="${WAYPOST}" type="application/octet-stream" w:content-type="a/b&#10;X: y"/>`,
        /no Content-Type/,
      ],
      [`<content xmlns:w="${WAYPOST}" type="application/octet-stream" w:content-type=" a/b"/>`, /no Content-Type/],
      [`<content xmlns:w="${WAYPOST}" type="application/octet-stream" w:content-type="a/☃"/>`, /no Content-Type/],
    ];
    for (const [entry, message] of bad) {
      assert.throws(
        () => readAtomFeed(feed(good, entry, good)),
        (error) =>
          error instanceof AtomError &&
          error.entry === 2 &&
          message.test(error.message) &&
          /^entry 2: /.test(error.message),
        entry,
      );
    }
  });

  test('takes a feed without a namespace or without entries, and nothing else', () => {
    assert.equal(readAtomFeed(parseXml('<feed><entry><content>a</content></entry></feed>')).length, 1);
    assert.deepEqual(readAtomFeed(feed()), []);
    assert.throws(() => readAtomFeed(parseXml('<feed xmlns="urn:x"/>')), /expected an Atom feed/);
    assert.throws(() => readAtomFeed(parseXml('<entry/>')), /expected an Atom feed/);
  });

  test('has limits of their own kind', () => {
    const three = feed(...Array<string>(3).fill('<content>abc</content>'));
    assert.throws(() => readAtomFeed(three, { entries: 2 }), { kind: 'too-many-entries' });
    assert.throws(() => readAtomFeed(three, { bytes: 8 }), { kind: 'too-large', entry: 3 });
    assert.equal(readAtomFeed(three, { entries: 3, bytes: 9 }).length, 3);
  });

  test('hands on any bytes and any text', () => {
    const entry = (type: string, text: string): XmlNode => ({
      name: 'entry',
      children: [{ name: 'content', attributes: { type }, children: [text] }],
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.uint8Array(), fc.string({ unit: 'grapheme' }))), (items) => {
        const children = items.flatMap(([bytes, text]) => [
          entry('application/octet-stream', Buffer.from(bytes).toString('base64')),
          entry('text', text),
        ]);
        const read = readAtomFeed(parseXml(renderXml({ name: 'feed', namespace: ATOM, children })));
        assert.deepEqual(
          read.map(({ body }) => body),
          items.flatMap(([bytes, text]) => [Buffer.from(bytes), Buffer.from(text)]),
        );
      }),
    );
  });
});

describe('readAtomLink', () => {
  test('reads a link with or without the namespace', () => {
    const expected = { rel: 'post-message-once', href: 'http://a/b?c=1&d=2', type: 'text/plain' };
    const attributes = 'rel=" post-message-once " href=" http://a/b?c=1&amp;d=2 " type="text/plain"';
    assert.deepEqual(readAtomLink(parseXml(`<link ${attributes}/>`)), expected);
    assert.deepEqual(readAtomLink(parseXml(`<link xmlns="${ATOM}" ${attributes}/>`)), expected);
    assert.deepEqual(readAtomLink(parseXml(`<a:link xmlns:a="${ATOM}" ${attributes}/>`)), expected);
    assert.deepEqual(readAtomLink(parseXml('<link href="/x"/>')), { rel: 'alternate', href: '/x' });
  });

  test('refuses anything else', () => {
    for (const bad of ['<link rel="a"/>', '<link rel="a" href=" "/>', '<entry/>', '<link xmlns="urn:x" href="/"/>']) {
      assert.throws(() => readAtomLink(parseXml(bad)), AtomError, bad);
    }
  });

  test('finds the links of an element', () => {
    const root = parseXml(
      `<r><link rel="a" href="/1"/><date/><link xmlns="${ATOM}" rel="b" href="/2"/><x><link/></x></r>`,
    );
    assert.deepEqual(readAtomLinks(root), [
      { rel: 'a', href: '/1' },
      { rel: 'b', href: '/2' },
    ]);
  });
});
