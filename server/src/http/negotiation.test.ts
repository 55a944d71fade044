import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../testing/properties.ts';
import { chooseMediaType, prefersNamed, wantsNamed } from './negotiation.ts';

const transaction = ['application/tx+xml', 'application/json', 'application/xml'];
const root = ['application/json', 'application/xml', 'text/html'];

test('without a telling Accept the first offer is taken', () => {
  for (const accept of [undefined, '', '*/*', ' */* ', '*', '*/*;q=0.1', 'application/*']) {
    assert.equal(chooseMediaType(accept, transaction), 'application/tx+xml', String(accept));
  }
  assert.equal(chooseMediaType(undefined, []), undefined);
});

test('an unreadable Accept counts as absent, an unreadable element as not there', () => {
  for (const accept of ['json', 'a/b/c', 'text/html;q=high', 'text/html;x="open', ',,', '\u0000', 'text/html;q=-1']) {
    assert.equal(chooseMediaType(accept, root), 'application/json', accept);
  }
  assert.equal(chooseMediaType('nonsense, text/html', root), 'text/html');
});

test('quality decides, then naming, then the order of the offers', () => {
  const cases: [string, string | undefined][] = [
    ['application/json', 'application/json'],
    ['APPLICATION/JSON', 'application/json'],
    ['application/json;q=0.5, application/xml', 'application/xml'],
    ['application/xml, application/json', 'application/json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
    ['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', 'text/html'],
    ['text/*, */*', 'text/html'],
    ['text/plain', undefined],
    ['application/json;q=0', undefined],
    ['application/json;q=0, */*', 'application/xml'],
    ['*/*;q=0.5, application/json;q=0.1', 'application/xml'],
    ['*/*;q=0', undefined],
    ['application/*;q=0, */*', 'text/html'],
    ['application/json;q=0.1, application/json', 'application/json'],
  ];
  for (const [accept, chosen] of cases) assert.equal(chooseMediaType(accept, root), chosen, accept);
  assert.equal(chooseMediaType('application/json, text/plain, */*', transaction), 'application/json');
});

test('XML and JSON stand for their families', () => {
  assert.equal(chooseMediaType('application/xml', ['application/json', 'application/tx+xml']), 'application/tx+xml');
  assert.equal(chooseMediaType('text/xml', ['application/json', 'application/tx+xml']), 'application/tx+xml');
  assert.equal(chooseMediaType('text/xml', ['application/json', 'application/xml']), 'application/xml');
  assert.equal(
    chooseMediaType('application/json', ['application/problem+xml', 'application/problem+json']),
    'application/problem+json',
  );
  assert.equal(chooseMediaType('application/xml, application/json', transaction), 'application/tx+xml');
  assert.equal(
    chooseMediaType('application/xml, application/tx+xml;q=0.5', ['application/tx+xml', 'application/xml']),
    'application/xml',
  );
  assert.equal(chooseMediaType('application/tx+xml', ['application/xml']), undefined);
});

test('parameters must be those of the offer, except a charset', () => {
  assert.equal(chooseMediaType('application/json; charset=utf-8', root), 'application/json');
  assert.equal(chooseMediaType('application/json; profile="x"', root), undefined);
  const profiled = ['application/json', 'application/json;profile=x'];
  assert.equal(chooseMediaType('application/json;profile="X", application/json;q=0.5', profiled), profiled[1]);
});

test('a type that must be asked for by name is weighed against what could come instead', () => {
  const rows: [accept: string | undefined, other: string | undefined, wanted: boolean][] = [
    [undefined, undefined, false],
    ['*/*', undefined, false],
    ['text/*', undefined, false],
    ['text/event-stream', undefined, true],
    ['TEXT/Event-Stream; charset=utf-8', undefined, true],
    ['text/event-stream;q=0', undefined, false],
    ['text/event-stream;q=0.1', undefined, true],
    ['text/event-stream, */*', undefined, true],
    ['text/event-stream;q=0.5, */*', undefined, false],
    ['text/event-stream;q=0.5, text/plain', 'text/plain', false],
    ['text/event-stream;q=0.5, text/plain', 'image/png', true],
    ['text/event-stream;q=0.5, text/plain', 'no type at all', true],
    ['text/event-stream;q=0.5, application/octet-stream', 'no type at all', false],
    ['text/event-stream;q=0.5, text/plain;q=0, */*', 'text/plain', true],
  ];
  for (const [accept, other, wanted] of rows) {
    assert.equal(wantsNamed(accept, 'text/event-stream', other), wanted, `${accept} against ${other}`);
  }
});

test('a type that must be asked for by name stands back where the client leaves the choice', () => {
  const rows: [accept: string | undefined, preferred: boolean][] = [
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['application/*', false],
    ['application/xml', false],
    ['application/atom+xml', true],
    ['application/atom+xml;type=feed', true],
    ['application/atom+xml;type=entry', false],
    ['application/atom+xml;q=0.1', true],
    ['application/atom+xml;q=0', false],
    ['application/atom+xml, */*', true],
    ['application/atom+xml;q=0.9, */*', false],
    ['application/atom+xml, multipart/mixed', false],
    ['application/atom+xml, multipart/mixed;q=0.9', true],
    ['application/atom+xml;q=0.8, multipart/*;q=0.9', false],
  ];
  for (const [accept, preferred] of rows) {
    assert.equal(prefersNamed(accept, 'application/atom+xml;type=feed', 'multipart/mixed'), preferred, `${accept}`);
  }
});

test('any Accept gets one of the offers or none, and no exception', () => {
  const piece = fc.constantFrom(
    'text',
    'html',
    '/',
    '*',
    ';',
    ',',
    'q',
    '=',
    '0.5',
    '"',
    '\\',
    ' ',
    'application/json',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string({ unit: 'binary', maxLength: 2 })), { maxLength: 30 }), (pieces) => {
      const chosen = chooseMediaType(pieces.join(''), root);
      assert.ok(chosen === undefined || root.includes(chosen));
    }),
  );
});
