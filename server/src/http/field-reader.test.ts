import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../testing/properties.ts';
import { readMediaType, readParameters, readQuoted, readToken, splitList } from './field-reader.ts';

test('a list is split at the commas outside quotes', () => {
  assert.deepEqual(splitList('a, b;x="1,2" ,, "c\\",d",e'), ['a', 'b;x="1,2"', '"c\\",d"', 'e']);
  assert.deepEqual(splitList(' , '), []);
  assert.deepEqual(splitList('a, "never closed, b'), ['a', '"never closed, b']);
  assert.deepEqual(splitList('a, "ends in a backslash\\'), ['a', '"ends in a backslash\\']);
});

test('a quoted string gives up its escapes', () => {
  const cursor = { text: '"a\\"b\\\\c" rest', at: 0 };
  assert.equal(readQuoted(cursor), 'a"b\\c');
  assert.equal(cursor.text.slice(cursor.at), ' rest');
  assert.equal(readQuoted({ text: '"open', at: 0 }), undefined);
  assert.equal(readQuoted({ text: '"open\\', at: 0 }), undefined);
});

test('parameters are read with and without quotes', () => {
  const cursor = { text: ' ; A=1;b = "x;y" ;; flag ; type=application/tx+xml, next', at: 0 };
  assert.deepEqual(readParameters(cursor), [
    { name: 'a', value: '1' },
    { name: 'b', value: 'x;y' },
    { name: 'flag', value: '' },
    { name: 'type', value: 'application/tx+xml' },
  ]);
  assert.equal(cursor.text.slice(cursor.at), ', next');
  assert.equal(readParameters({ text: ';a="open', at: 0 }), undefined);
  assert.equal(readParameters({ text: ';=x', at: 0 }), undefined);
  assert.equal(readParameters({ text: ';a=', at: 0 }), undefined);
});

test('a media type is read whole or not at all', () => {
  assert.deepEqual(readMediaType('Text/HTML; Charset="UTF-8"'), {
    essence: 'text/html',
    parameters: [{ name: 'charset', value: 'UTF-8' }],
  });
  for (const bad of ['', 'text', 'text/', '/html', 'text/html x', 'text/html; a=b c', 'text/html\r\nX: y']) {
    assert.equal(readMediaType(bad), undefined, bad);
  }
});

test('any text is survived, and reading never stands still behind its start', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      const cursor = { text, at: 0 };
      const token = readToken(cursor);
      assert.equal(text.slice(0, cursor.at), token);
      readParameters(cursor);
      assert.ok(cursor.at >= token.length && cursor.at <= text.length);
      readMediaType(text);
      for (const element of splitList(text)) assert.ok(text.includes(element));
    }),
  );
});
