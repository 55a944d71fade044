import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fc } from '../../../testing/properties.ts';
import { formatLinks, formatOwnLink, type Link, LinkError, parseLinks, resolveTarget } from './links.ts';
import { resource } from './resource.ts';

describe('formatLinks', () => {
  test('writes one field value', () => {
    assert.equal(formatLinks([]), '');
    assert.equal(
      formatLinks([
        { rel: 'self', href: 'http://127.0.0.1:8080/queues/a?x=1&y=%20', method: 'GET' },
        { rel: 'subscribers', href: '/s', type: 'application/atom+xml', title: 'who "gets" it' },
      ]),
      '<http://127.0.0.1:8080/queues/a?x=1&y=%20>; rel="self", ' +
        '</s>; rel="subscribers"; type="application/atom+xml"; title="who \\"gets\\" it"',
    );
  });

  test('writes a title that is not ASCII in the extended form', () => {
    assert.equal(
      formatLinks([{ rel: 'a', href: '/', title: "Grüße (*')" }]),
      '</>; rel="a"; title*=UTF-8\'\'Gr%C3%BC%C3%9Fe%20%28%2a%27%29',
    );
  });

  test('lets nothing break out of its place', () => {
    const evil = 'x>; rel="evil", <y\r\nSet-Cookie: a=b\u0000"\\é';
    const value = formatLinks([{ rel: evil, href: evil, type: evil, title: evil }]);
    assert.match(value, /^[ -~]*$/);
    const links = parseLinks(value);
    assert.equal(links.length, 1);
    assert.ok(!links[0]?.rels.includes('evil'));
    assert.deepEqual(Object.keys(links[0]?.params ?? {}), ['rel', 'type', 'title*']);
  });

  test('writes a link of ours like any other', () => {
    const { href } = resource('/a/{b}');
    for (const b of ['c', '>\r\n"\\', 'é']) {
      const link = { rel: 'evil" rel\r\n', href: href({ b }) };
      assert.equal(formatOwnLink(link, 'http://h'), formatLinks([link], 'http://h'));
    }
  });

  test('takes no base that would break out of the field, however often it is given', () => {
    const link = { rel: 'a', href: resource('/').href({}) };
    for (const base of ['http://h\r\nX: y', 'http://\u010a', 'http://h\r\nX: y']) {
      assert.throws(() => formatLinks([link], base), /begin/);
      assert.throws(() => formatLinks([link], base), /begin/);
      assert.throws(() => formatOwnLink(link, base), /begin/);
    }
    assert.equal(formatOwnLink(link, 'http://h'), '<http://h/>; rel="a"');
  });
});

describe('parseLinks', () => {
  test('reads several links with quoted and bare parameters', () => {
    const links = parseLinks(
      '<http://a/b,c;d>; rel="next last" ; type=application/tx-state+xml,</x>;rel=Hotel;title="a, b; <c> \\"d\\"", , <>;rel=" http://Ex/Rel  SELF "',
    );
    assert.deepEqual(
      links.map(({ href, rel, rels, type, title }) => ({ href, rel, rels, type, title })),
      [
        {
          href: 'http://a/b,c;d',
          rel: 'next last',
          rels: ['next', 'last'],
          type: 'application/tx-state+xml',
          title: undefined,
        },
        { href: '/x', rel: 'Hotel', rels: ['hotel'], type: undefined, title: 'a, b; <c> "d"' },
        { href: '', rel: ' http://Ex/Rel  SELF ', rels: ['http://Ex/Rel', 'self'], type: undefined, title: undefined },
      ],
    );
  });

  test('takes the first of each parameter, and the extended title before the plain one', () => {
    const [link] = parseLinks(
      '</a>; rel=one; rel=two; REV=x; title=plain; title*=UTF-8\'en\'Gr%C3%BC%C3%9Fe; crossorigin; anchor="#f"',
    );
    assert.equal(link?.rel, 'one');
    assert.equal(link?.title, 'Grüße');
    assert.equal(link?.params.rev, 'x');
    assert.equal(link?.params.crossorigin, '');
    assert.equal(link?.params.anchor, '#f');
  });

  test('a broken extended title falls back to the plain one', () => {
    for (const broken of ["UTF-8''%ff", "ISO-8859-1'en'a", "UTF-8''%", 'x']) {
      assert.equal(parseLinks(`</a>; rel=b; title*=${broken}; title=plain`)[0]?.title, 'plain');
    }
  });

  test('a link without a relation has none', () => {
    assert.deepEqual(parseLinks('</a>')[0]?.rels, []);
    assert.equal(parseLinks('</a>;')[0]?.rel, '');
    assert.deepEqual(parseLinks(''), []);
    assert.deepEqual(parseLinks(' ,\t, '), []);
  });

  test('keeps parameter names away from the prototype', () => {
    const [link] = parseLinks('</a>; __proto__=x; constructor=y; rel=b');
    assert.deepEqual(Object.entries(link?.params ?? {})[0], ['__proto__', 'x']);
    assert.equal(Object.getPrototypeOf(link?.params), null);
    assert.equal(parseLinks('</a>')[0]?.params.toString, undefined);
  });

  test('says where an unreadable value is unreadable', () => {
    const bad: [string, RegExp][] = [
      ['/a; rel=b', /begins a URI at character 1 /],
      ['</a', /ends with ">" at character 1 /],
      ['</a b>; rel=c', /without spaces/],
      ['</a>; rel="b', /parameter/],
      ['</a>; rel=', /parameter/],
      ['</a>; =b', /parameter/],
      ['</a>; rel=b c', /";" or "," at character 13 /],
      ['</a>; rel="b"c', /";" or "," at character 14 /],
      ['</a> </b>', /";" or "," at character 6 /],
      ['</a>; rel=b\r\nX: y', /control character at character 12 /],
    ];
    for (const [value, message] of bad) {
      assert.throws(
        () => parseLinks(value),
        (error) => error instanceof LinkError && message.test(error.message),
        value,
      );
    }
  });

  test('throws nothing but LinkError', () => {
    const piece = fc.constantFrom('<', '>', ';', ',', '=', '"', '\\', ' ', 'rel', 'title*', "UTF-8''", '%', 'a', '*');
    const text = fc.array(fc.oneof({ weight: 5, arbitrary: piece }, fc.string({ unit: 'binary', maxLength: 2 })), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(text, (pieces) => {
        try {
          parseLinks(pieces.join(''));
        } catch (error) {
          assert.ok(error instanceof LinkError, String(error));
        }
      }),
      { numRuns: 1000 },
    );
  });
});

test('what is formatted parses back', () => {
  const ascii = fc.string({ unit: 'grapheme-ascii', maxLength: 20 });
  const href = fc.oneof(
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.constantFrom('/', '', 'a,b;c=d'),
  );
  const link = fc.record(
    { rel: ascii, href, type: ascii, title: fc.string({ unit: 'binary', maxLength: 20 }) },
    { requiredKeys: ['rel', 'href'] },
  );
  fc.assert(
    fc.property(fc.array(link as fc.Arbitrary<Link>, { maxLength: 5 }), (links) => {
      const read = parseLinks(formatLinks(links)).map((parsed) => [parsed.href, parsed.rel, parsed.type, parsed.title]);
      assert.deepEqual(
        read,
        links.map((sent) => [sent.href, sent.rel, sent.type, sent.title?.toWellFormed()]),
      );
    }),
  );
});

test('a relative target is resolved against the address it was sent to; paths and URIs stay as they are', () => {
  const address = 'https://a.example/queues/b/messages';
  const targets = {
    '//c.example/d?e': 'https://c.example/d?e',
    f: 'https://a.example/queues/b/f',
    '../f': 'https://a.example/queues/f',
    '?g': 'https://a.example/queues/b/messages?g',
    '/queues/h': '/queues/h',
    'http://c.example': 'http://c.example',
    'urn:i:j': 'urn:i:j',
    '//': '//',
  };
  for (const [href, target] of Object.entries(targets)) assert.equal(resolveTarget(href, address), target);
});
