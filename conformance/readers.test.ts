import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { expand, parseLinks, parseTemplates } from './links.ts';
import { parseMultipart } from './multipart.ts';
import { contentOfJson, contentOfXml } from './twins.ts';
import { parseXml } from './xml.ts';

describe('the readers of the suite', () => {
  it('read links with their parameters', () => {
    const field =
      '<http://a/?x=1,2>; rel="self next"; title="a \\"b\\", c", <http://b/>;rel=up; type="text/x"; rel=down';
    assert.deepEqual(parseLinks(field), [
      { rel: 'self next', href: 'http://a/?x=1,2', title: 'a "b", c' },
      { rel: 'up', href: 'http://b/', type: 'text/x' },
    ]);
    assert.deepEqual(parseLinks(''), []);
  });

  it('refuse links that only a lenient reader understands', () => {
    const bad = ['http://a/; rel="x"', '<http://a/>', '<a>; rel="x" <b>; rel="y"', '<a>; rel="x", x', '<a b>; rel="x"'];
    for (const field of bad) assert.throws(() => parseLinks(field), field);
  });

  it('read templates and fill them in', () => {
    const [template] = parseTemplates('"http://a/{name}/m/{message-id}"; rel="message", "http://b/{x}"; rel="other"');
    assert.deepEqual(template, { rel: 'message', template: 'http://a/{name}/m/{message-id}' });
    const values = { name: 'a/b c', 'message-id': "~.-_!'()*é" };
    assert.equal(expand('{name}:{message-id}', values), 'a%2Fb%20c:~.-_%21%27%28%29%2A%C3%A9');
    assert.throws(() => expand('{name}', {}));
    assert.throws(() => parseTemplates('<http://a/>; rel="x"'));
  });

  it('read a document alike in JSON and XML', () => {
    const json = contentOfJson({
      name: 'a',
      size: 3,
      none: null,
      counts: { ready: 1 },
      links: [{ rel: 'self', href: 'http://a/' }],
      items: [{ name: 'b', links: [] }],
    });
    const xml = parseXml(
      `<list name="a"><size>3</size><counts><ready>1</ready></counts>
       <link xmlns="http://www.w3.org/2005/Atom" rel="self" href="http://a/"/><item name="b"/></list>`,
    );
    assert.deepEqual(contentOfXml(xml, 'item'), json);
    assert.throws(() => contentOfJson({ links: [{ rel: 'self', href: '/', colour: 'red' }] }));
    assert.throws(() => parseXml('<a><b></a>'));
  });

  it('read a multipart body byte for byte', () => {
    const body = '--x\r\nA: 1\r\nA: 2\r\n\r\none\r\n\r\n--x\r\n\r\n\xff--x\r\n--x--\r\n';
    const parts = parseMultipart('multipart/mixed; boundary=x', Buffer.from(body, 'latin1'));
    assert.deepEqual(
      parts.map((part) => [part.headers, part.body.toString('latin1')]),
      [
        [{ a: '1, 2' }, 'one\r\n'],
        [{}, '\xff--x'],
      ],
    );
    assert.throws(() => parseMultipart('multipart/mixed; boundary=x', Buffer.from('--x\r\n\r\nopen')));
    assert.throws(() => parseMultipart('text/plain', Buffer.from('')));
  });
});
