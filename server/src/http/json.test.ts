import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../testing/properties.ts';
import { Problem } from '../problems.ts';
import { memberGivenTwice, parseJson } from './json.ts';

test('a member that is given twice is found, wherever it is and however it is written', () => {
  const texts: Record<string, (string | number)[]> = {
    '{"a":1,"a":1}': ['a'],
    '{ "a" : 1 , "b" : {} , "a" : [] }': ['a'],
    '{"a":{"b":[0,{"c":"","d":2,"c":3}]}}': ['a', 'b', 1, 'c'],
    '[{"a":1},{"b":1,"b":2}]': [1, 'b'],
    '{"k":[[1,2,"x"],{"z":[3,4],"z":1}]}': ['k', 1, 'z'],
    '{"metadata":{"k":1,"k":2}}': ['metadata', 'k'],
    '{"a":[1,"b"],"b":"a","a":2}': ['a'],
    '{"\\u0061":1,"a":2}': ['a'],
    '{"q\\"":1,"q\\"":2}': ['q"'],
    '{"\\\\":"\\\\","\\\\":1}': ['\\'],
    '{"":1,"":2}': [''],
    '{"__proto__":1,"__proto__":2}': ['__proto__'],
  };
  for (const [text, path] of Object.entries(texts)) assert.deepEqual(memberGivenTwice(text), path, text);
});

test('what stands in other objects, in arrays or in values is no repetition', () => {
  for (const text of [
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}',
    '{"a":"a","b":"\\"a\\":1,\\"a\\":2"}',
    '["a","a"]',
    '{"a":["b","b",{"b":"b"}],"b":"{\\"b\\":1,"}',
    '{"a":"\\\\","b":1}',
    '"a"',
    '1',
    '{}',
  ]) {
    assert.doesNotThrow(() => JSON.parse(text), text);
    assert.equal(memberGivenTwice(text), undefined, text);
  }
});

test('of any JSON without a repetition, in any layout, nothing is said', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      assert.equal(memberGivenTwice(text), undefined);
      assert.deepEqual(parseJson(Buffer.from(text)), JSON.parse(text));
    }),
  );
});

test('of any object with one member added again, that member is named', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }),
      fc.nat(),
      fc.nat(3),
      (object, pick, depth) => {
        const names = Object.keys(object);
        const name = names[pick % names.length] as string;
        const text = `${JSON.stringify(object).slice(0, -1)},${JSON.stringify(name)}:null}`;
        const nested = `${'[{"x":'.repeat(depth)}${text}${'}]'.repeat(depth)}`;
        assert.deepEqual(memberGivenTwice(nested), [...Array.from({ length: depth }, () => [0, 'x']).flat(), name]);
      },
    ),
  );
});

test('the refusal names the member, and is the same for what is not JSON at all', () => {
  const refused = (text: string, detail: RegExp) =>
    assert.throws(
      () => parseJson(Buffer.from(text)),
      (error) => error instanceof Problem && error.status === 400 && detail.test(error.message),
    );
  refused('{"lease":1,"lease":2}', /^lease must be given once$/);
  refused('{"lease":1,}', /not well-formed JSON/);
  refused('', /not well-formed JSON/);
});

test('the pointer leads to the member from the root, and stays short however deep that is', () => {
  const pointerOf = (text: string): string | undefined => {
    try {
      parseJson(Buffer.from(text));
    } catch (error) {
      return error instanceof Problem ? error.extras.errors?.[0]?.pointer : undefined;
    }
    return undefined;
  };
  assert.equal(pointerOf('{"metadata":{"k":1,"k":2}}'), '/metadata/k');
  assert.equal(pointerOf('{"k":[0,{"z":1,"z":2}]}'), '/k/1/z');
  assert.equal(pointerOf('{"a/b":{"c~d":1,"c~d":2}}'), '/a~1b/c~0d');
  const deep = `${'['.repeat(5000)}{"a":1,"a":2}${']'.repeat(5000)}`;
  assert.equal(pointerOf(deep), `${'/0'.repeat(20)}/…`);
});
