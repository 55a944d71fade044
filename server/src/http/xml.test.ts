import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fc } from '../../../testing/properties.ts';
import { ATOM, parseXml, renderFragment, renderXml, type XmlElement, XmlError, type XmlNode } from './xml.ts';

function refused(input: string | Buffer, message: RegExp, limits = {}): void {
  assert.throws(
    () => parseXml(input, limits),
    (error) => error instanceof XmlError && message.test(error.message) && /line \d+, column \d+/.test(error.message),
  );
}

describe('parseXml', () => {
  test('reads names, namespaces, attributes, text and order', () => {
    const root = parseXml(
      Buffer.from(`<?xml version="1.0" encoding="utf-8"?><?style ignored?><!-- ignored -->
<reservation xmlns:a="${ATOM}" id="7">one<a:link rel="transaction" xml:lang="de" href="/t?a=1&amp;b=2"/>
two<![CDATA[<3>]]><!-- x -->&#233;</reservation>`),
    );
    assert.equal(root.name, 'reservation');
    assert.equal(root.namespace, '');
    assert.equal(root.attributes.id, '7');
    assert.equal(root.text, 'one\ntwo<3>é');
    assert.equal(root.children.length, 1);
    const [link] = root.children;
    assert.equal(link?.namespace, ATOM);
    assert.deepEqual({ ...link?.attributes }, { rel: 'transaction', href: '/t?a=1&b=2' });
    assert.deepEqual(
      link?.foreign.map(({ prefix, name, value }) => [prefix, name, value]),
      [['xml', 'lang', 'de']],
    );
    assert.deepEqual(root.content, ['one', link, '\ntwo<3>é']);
  });

  test('keeps namespace declarations out of the attributes, and the attributes out of the prototype', () => {
    const root = parseXml('<a xmlns="urn:x" xmlns:p="urn:y" __proto__="1" constructor="2" p:__proto__="3"/>');
    assert.equal(root.namespace, 'urn:x');
    assert.deepEqual(Object.keys(root.attributes), ['__proto__', 'constructor']);
    assert.equal(Object.getPrototypeOf(root.attributes), null);
    assert.equal(parseXml('<a/>').attributes.toString, undefined);
  });

  test('takes a byte order mark and US-ASCII', () => {
    assert.equal(parseXml(Buffer.from('\uFEFF<a>é</a>')).text, 'é');
    assert.equal(parseXml('\uFEFF<a>é</a>').text, 'é');
    assert.equal(parseXml('<?xml version="1.0" encoding="US-ASCII"?><a>b</a>').text, 'b');
  });

  test('refuses a DOCTYPE', () => {
    refused('<!DOCTYPE a><a/>', /DOCTYPE/);
    refused('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', /DOCTYPE/);
    refused('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', /DOCTYPE/);
    refused('<!DOCTYPE a [', /./);
  });

  test('knows five entities and character references only', () => {
    assert.equal(parseXml('<a>&lt;&gt;&amp;&quot;&apos;&#x41;&#66;</a>').text, '<>&"\'AB');
    for (const name of ['nbsp', 'constructor', '__proto__', '#0', '#xD800', '#x110000', '']) {
      refused(`<a>&${name};</a>`, /entity/);
    }
  });

  test('refuses other encodings and broken UTF-8', () => {
    refused(Buffer.from('\uFEFF<a/>', 'utf16le'), /UTF-16/);
    refused(Buffer.from('<a/>', 'utf16le'), /./);
    refused(Buffer.from([0xfe, 0xff, 0, 0x3c]), /UTF-16/);
    refused('<?xml version="1.0" encoding="ISO-8859-1"?><a/>', /UTF-8, not ISO-8859-1/);
    refused(Buffer.from([0x3c, 0x61, 0x3e, 0xe9, 0x3c, 0x2f, 0x61, 0x3e]), /valid UTF-8/);
    refused('<a>\uD800</a>', /surrogate/);
  });

  test('refuses what is not well-formed, with the place', () => {
    assert.throws(() => parseXml('<a>\n <b></a>'), { name: 'XmlError', line: 2 });
    for (const bad of [
      '',
      ' ',
      'text',
      '<a',
      '<a/><b/>',
      '<a b="1" b="2"/>',
      '<a b=1/>',
      '<p:a/>',
      '<a>\u0000</a>',
      '<a/>x',
    ]) {
      refused(bad, /./);
    }
    refused('<a>&never ends', /./);
  });

  test('has limits', () => {
    const nested = (depth: number) => '<a>'.repeat(depth) + '</a>'.repeat(depth);
    assert.equal(parseXml(nested(64)).name, 'a');
    refused(nested(65), /deeper than 64/);
    refused('<a>12345</a>', /larger than 11 bytes/, { bytes: 11 });
    refused('<a>é</a>', /larger than 8 bytes/, { bytes: 8 });
    refused('<a><b/><b c="1" d="2"/></a>', /more than 4 elements/, { nodes: 4 });
    refused(`<a xmlns:p="${'x'.repeat(2000)}"/>`, /namespace/);
    const longName = 'n'.repeat(100_000);
    assert.throws(
      () => parseXml(`<${longName}>`),
      (error) => error instanceof XmlError && error.message.length < 300,
    );
  });

  test('throws nothing but XmlError', () => {
    const piece = fc.constantFrom(
      '<a',
      '<b>',
      '</b>',
      '>',
      '/>',
      '<!',
      '--',
      '[CDATA[',
      ']]>',
      '&',
      ';',
      '#x',
      ' x="',
      '"',
      "'",
      '<?',
      '?>',
      'é',
      '\u0000',
      '\r',
      'xmlns:p="',
      '<p:q',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string({ unit: 'binary', maxLength: 3 }))), (pieces) => {
        try {
          parseXml(Buffer.from(pieces.join('')));
        } catch (error) {
          assert.ok(error instanceof XmlError, String(error));
        }
      }),
    );
  });
});

describe('renderXml', () => {
  test('declares a namespace where it changes', () => {
    const node: XmlNode = {
      name: 'transaction',
      attributes: { timeout: '1 < 2 & "3"', state: undefined },
      children: [
        { name: 'link', namespace: ATOM, attributes: { rel: 'self' }, children: [{ name: 'inner' }] },
        { name: 'note', children: ['a]]>b'] },
      ],
    };
    assert.equal(
      renderXml(node),
      '<?xml version="1.0" encoding="UTF-8"?><transaction timeout="1 &lt; 2 &amp; &quot;3&quot;">' +
        `<link xmlns="${ATOM}" rel="self"><inner/></link><note>a]]&gt;b</note></transaction>`,
    );
  });

  test('takes a namespace back with an empty one', () => {
    assert.equal(
      renderFragment({ name: 'a', namespace: 'urn:x', children: [{ name: 'b', namespace: '' }] }),
      '<a xmlns="urn:x"><b xmlns=""/></a>',
    );
  });

  test('replaces what XML cannot carry', () => {
    const root = parseXml(
      renderXml({ name: 'a', attributes: { b: '\u0001\uFFFE' }, children: ['\u0000\uD800x😀\uFFFF'] }),
    );
    assert.equal(root.attributes.b, '\uFFFD\uFFFD');
    assert.equal(root.text, '\uFFFD\uFFFDx😀\uFFFD');
  });

  test('refuses a name that would break out', () => {
    for (const name of ['', 'a b', 'a>', '1a', 'p:a', 'a\u0000']) {
      assert.throws(() => renderXml({ name }), TypeError);
      assert.throws(() => renderXml({ name: 'a', attributes: { [name]: 'x' } }), TypeError);
    }
  });

  test('writes a parsed document back with its prefixes', () => {
    const source =
      '<p:a xmlns:p="urn:p" xmlns="urn:d" xmlns:q="urn:q" q:x="1" xml:lang="en">t<b>u</b>v<p:c xmlns:p="urn:r" type="p:name"/></p:a>';
    assert.equal(
      renderFragment(parseXml(source)),
      '<p:a xmlns:p="urn:p" xmlns="urn:d" xmlns:q="urn:q" q:x="1" xml:lang="en">t<b>u</b>v<p:c xmlns:p="urn:r" type="p:name"/></p:a>',
    );
  });
});

describe('round trip', () => {
  const name = fc.stringMatching(/^[A-Za-z_é][A-Za-z0-9_.é-]{0,8}$/).filter((text) => !/^xml/i.test(text));
  const text = fc.string({ unit: 'binary', maxLength: 12 });
  const namespace = fc.constantFrom(ATOM, '', 'urn:a&"b', 'urn:c');
  const { node } = fc.letrec<{ node: XmlNode }>((tie) => ({
    node: fc.record(
      {
        name,
        namespace,
        attributes: fc.dictionary(name, fc.option(text, { nil: undefined }), { maxKeys: 4 }),
        children: fc.array(fc.oneof({ maxDepth: 4 }, text, tie('node')), { maxLength: 4 }),
      },
      { requiredKeys: ['name'] },
    ) as fc.Arbitrary<XmlNode>,
  }));

  const allowed = (value: string) =>
    value.toWellFormed().replace(/[^\P{Cc}\t\n\r\x7F-\x9F]|[\uFFFE\uFFFF]/gu, '\uFFFD');

  interface Plain {
    name: string;
    namespace: string;
    attributes: [string, string][];
    content: (Plain | string)[];
  }

  function expected(from: XmlNode, inherited: string): Plain {
    const own = from.namespace ?? inherited;
    const content: (Plain | string)[] = [];
    for (const child of from.children ?? []) {
      if (typeof child !== 'string') content.push(expected(child, own));
      else if (typeof content.at(-1) === 'string') content.push(`${content.pop()}${allowed(child)}`);
      else if (child !== '') content.push(allowed(child));
    }
    const attributes = Object.entries(from.attributes ?? {}).flatMap(([key, value]): [string, string][] =>
      value === undefined ? [] : [[key, allowed(value)]],
    );
    return { name: from.name, namespace: own, attributes, content };
  }

  function plain(element: XmlElement): Plain {
    return {
      name: element.name,
      namespace: element.namespace,
      attributes: Object.entries(element.attributes),
      content: element.content.map((item) => (typeof item === 'string' ? item : plain(item))),
    };
  }

  test('what is rendered parses back equal', () => {
    fc.assert(
      fc.property(node, (tree) => {
        const parsed = parseXml(renderXml(tree));
        assert.deepEqual(plain(parsed), expected(tree, ''));
        assert.equal(renderXml(parsed), renderXml(parseXml(renderXml(parsed))));
        assert.deepEqual(plain(parseXml(renderXml(parsed))), plain(parsed));
      }),
    );
  });
});
