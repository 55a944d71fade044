import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../testing/properties.ts';
import { FormError, parseForm } from './forms.ts';

const read = (text: string) => [...parseForm(Buffer.from(text))];

test('reads fields in order, repeated ones together', () => {
  assert.deepEqual(read(''), []);
  assert.deepEqual(read('acknowledge=true'), [['acknowledge', ['true']]]);
  assert.deepEqual(read('a=1&b=x+y%2B%26&&a=2&c&=d&e=f=g&'), [
    ['a', ['1', '2']],
    ['b', ['x y+&']],
    ['c', ['']],
    ['', ['d']],
    ['e', ['f=g']],
  ]);
  assert.deepEqual(read('name=Gr%C3%BC%C3%9Fe&raw=é&__proto__=x'), [
    ['name', ['Grüße']],
    ['raw', ['é']],
    ['__proto__', ['x']],
  ]);
});

test('refuses bad encodings', () => {
  for (const bad of ['a=%', 'a=%4', 'a=%zz', 'a=%ff', '%C3=1', 'a=%ED%A0%80', 'a=%C0%80']) {
    assert.throws(() => read(bad), FormError, bad);
  }
  assert.throws(() => parseForm(Buffer.from([0x61, 0x3d, 0xff])), /valid UTF-8/);
  assert.throws(() => read('a=1&b=%'), /field 2 /);
});

test('bounds the fields, not the ampersands', () => {
  assert.equal(read('&'.repeat(100_000)).length, 0);
  assert.throws(() => read('a&'.repeat(1001)), /more than 1000 fields/);
});

test('reads back what URLSearchParams writes', () => {
  const text = fc.string({ unit: 'binary', maxLength: 10 }).map((value) => value.toWellFormed());
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 10 }), (pairs) => {
      const form = parseForm(Buffer.from(new URLSearchParams(pairs).toString()));
      for (const [name] of pairs) {
        assert.deepEqual(
          form.get(name),
          pairs.filter(([other]) => other === name).map(([, value]) => value),
        );
      }
      assert.equal(form.size, new Set(pairs.map(([name]) => name)).size);
    }),
  );
});
