import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fc } from '../../../testing/properties.ts';
import { readAtomFeed } from './atom.ts';
import { type AtomMessage, WAYPOST, type WrittenContent, writeContent } from './atom-content.ts';
import { ATOM, parseXml, renderXml, type XmlNode } from './xml.ts';

const message = (contentType: string | null, body: string | Buffer): AtomMessage => ({
  contentType,
  body: typeof body === 'string' ? Buffer.from(body) : body,
});

function feedOf(contents: readonly WrittenContent[]): string {
  const children = contents.map(({ element }): XmlNode => ({ name: 'entry', children: [element] }));
  return renderXml({ name: 'feed', namespace: ATOM, children });
}

const readBack = (contents: readonly WrittenContent[]): AtomMessage[] => readAtomFeed(parseXml(feedOf(contents)));

/** The written element, after it was found to be read as the same message. */
function written(contentType: string | null, body: string | Buffer, bytes = 1000): XmlNode & { form: string } {
  const sent = message(contentType, body);
  const content = writeContent(sent, { bytes });
  assert.deepEqual(readBack([content]), [sent]);
  return { ...content.element, form: content.form };
}

/** Which Content-Type an element that holds bytes gives for them. */
const ownOf = ({ foreign = [] }: XmlNode): string[] =>
  foreign.map(({ name, namespace, value }) => {
    assert.equal(namespace, WAYPOST);
    return `${name}=${value}`;
  });

describe('writeContent', () => {
  test('writes text as text, under its own type', () => {
    for (const type of [
      'text/plain',
      'text/plain;charset=utf-8',
      'text/html',
      'Text/CSV; header=present; x="a;\\"b"',
    ]) {
      const element = written(type, ' a <b> & é\n\t]]>');
      assert.deepEqual([element.form, element.attributes], ['text', { type }]);
      assert.deepEqual(ownOf(element), []);
    }
    assert.equal(written('text/plain', '').form, 'text');
    assert.equal(written('text/plain', '\uFEFFmarked').form, 'text');
  });

  test('writes what is neither text nor XML as base64, under its own type', () => {
    for (const type of ['application/json', 'image/png', 'application/octet-stream', 'a/b; charset=iso-8859-1']) {
      const element = written(type, Buffer.from([0, 255, 13, 10]));
      assert.deepEqual([element.form, element.attributes], ['base64', { type }]);
      assert.deepEqual(ownOf(element), []);
    }
  });

  test('writes XML as an element where that loses nothing', () => {
    for (const xml of [
      '<order n="6"/>',
      '<order xmlns="urn:o"><a xmlns="">b &amp; c</a></order>',
      `<feed xmlns="${ATOM}"><entry/></feed>`,
      '<p:a xmlns:p="urn:p" xml:lang="en" p:b="1"><b> </b></p:a>',
    ]) {
      const element = written('application/xml', xml);
      assert.deepEqual([element.form, element.attributes], ['xml', { type: 'application/xml' }], xml);
    }
    assert.equal(written('text/xml; charset=UTF-8', '<a/>').form, 'xml');
  });

  test('writes XML as bytes where an element would lose something', () => {
    for (const xml of [
      '<?xml version="1.0"?><a/>',
      '<a/>\n',
      '<a></a>',
      "<a b='c'/>",
      '<a><!-- c --></a>',
      '<a><![CDATA[b]]></a>',
      '<a>\r\n</a>',
      '<a xmlns:p="urn:p" xmlns="urn:d"/>',
      '<!DOCTYPE a><a/>',
      `${'<a>'.repeat(62)}<a/>${'</a>'.repeat(62)}`,
      'no XML at all',
      '',
      '\uFEFF<a/>',
    ]) {
      const element = written('application/tx+xml', xml);
      assert.equal(element.form, 'base64', xml);
      assert.deepEqual(ownOf(element), ['content-type=application/tx+xml'], xml);
    }
    assert.deepEqual(ownOf(written('text/xml', '<a/>', 3)), ['content-type=text/xml']);
    assert.deepEqual(ownOf(written('text/xml; charset=utf-16', '<a/>')), ['content-type=text/xml; charset=utf-16']);
  });

  test('takes what it parsed off the room, whether it could inline it or not', () => {
    const room = { bytes: 20 };
    const forms = ['<a/>', '<a></a>', 'not XML', '<a>123456789</a>', '<ab/>', '<abc/>'].map(
      (xml) => writeContent(message('text/xml', xml), room).form,
    );
    assert.deepEqual(forms, ['xml', 'base64', 'base64', 'base64', 'xml', 'base64']);
    assert.equal(room.bytes, 20 - '<a/><a></a><ab/>'.length);
  });

  test('writes as bytes what text cannot hold', () => {
    for (const body of [
      'a\r\nb',
      '\r',
      '\0',
      '\x1b[0m',
      '\uFFFE',
      Buffer.from([0xff]),
      Buffer.from([0xed, 0xa0, 0x80]),
    ]) {
      assert.deepEqual(ownOf(written('text/plain', body)), ['content-type=text/plain']);
    }
    assert.deepEqual(ownOf(written('text/plain; charset=iso-8859-1', 'a')), [
      'content-type=text/plain; charset=iso-8859-1',
    ]);
  });

  test('writes as bytes what has a type that Atom does not allow, or none', () => {
    for (const type of [
      '',
      'text',
      'html',
      'xhtml',
      'nonsense',
      'text/*',
      'text/plain;',
      'text/plain; a=b/c',
      'text/plain; a="\xe9"',
      'text/plain\t; a=b',
      'multipart/mixed; boundary=a',
      'Message/rfc822',
    ]) {
      const element = written(type, 'a');
      assert.deepEqual(element.attributes, { type: 'application/octet-stream' }, type);
      assert.deepEqual(ownOf(element), [`content-type=${type}`]);
    }
    assert.deepEqual(ownOf(written(null, 'a')), ['untyped=true']);
  });

  test('does not let escapes blow a message up', () => {
    assert.equal(written('text/html', '<'.repeat(1000)).form, 'text');
    assert.equal(written('text/html', '<'.repeat(1001)).form, 'base64');
    assert.equal(written('text/html', `<${'a'.repeat(20)}`.repeat(1001)).form, 'text');
  });

  test('is read back as the same message, whatever it is', () => {
    const fieldByte = fc.integer({ min: 0x21, max: 0xff }).filter((code) => code !== 0x7f);
    const anyField = fc.array(fieldByte).map((codes) => String.fromCharCode(...codes));
    const types = ['text/plain', 'text/html', 'text/xml', 'a/b+xml', 'application/xml', 'application/octet-stream'];
    const parameters = fc.constantFrom('', ';charset=utf-8', '; charset=latin1', '; a="b c\\""', ';', ' ;a', '\t;a=b');
    const type = fc.oneof(
      fc.constant(null),
      anyField,
      fc.tuple(fc.constantFrom(...types), parameters).map(([essence, more]) => essence + more),
    );
    const word = fc.constantFrom(
      'a',
      'p:a',
      'b',
      'xmlns',
      'xmlns:p',
      '=',
      '"',
      "'",
      '<',
      '</',
      '/>',
      '>',
      ' ',
      '\n',
      '&lt;',
    );
    const body = fc.oneof(
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
      fc
        .string({ unit: fc.constantFrom('\r', '\n', '\t', ' ', '\x85', '\u2028', '\uFEFF', ']]>', '&') })
        .map((text) => Buffer.from(text)),
      fc.array(word).map((words) => Buffer.from(words.join(''))),
      fc
        .letrec<{ xml: XmlNode }>((tie) => ({
          xml: fc.record({
            name: fc.constantFrom('a', 'b'),
            namespace: fc.constantFrom('', 'urn:a', ATOM),
            prefix: fc.constantFrom('', 'p', 'q'),
            attributes: fc.dictionary(fc.constantFrom('c', 'type'), fc.string()),
            children: fc.array(fc.oneof({ depthSize: 'small' }, fc.string(), tie('xml')), { maxLength: 3 }),
          }),
        }))
        .xml.map((node) => Buffer.from(renderXml(node).replace(/^<\?.*?\?>/, ''))),
    );
    const messages = fc.array(fc.record({ contentType: type, body }, { noNullPrototype: true }), {
      minLength: 1,
      maxLength: 5,
    });
    const forms = new Set<string>();
    fc.assert(
      fc.property(messages, fc.nat(1000), (sent, bytes) => {
        const room = { bytes };
        const contents = sent.map((each) => writeContent(each, room));
        for (const { form } of contents) forms.add(form);
        assert.deepEqual(readBack(contents), sent);
      }),
      { numRuns: 500 },
    );
    assert.deepEqual([...forms].sort(), ['base64', 'text', 'xml'], 'each form was met');
  });
});
