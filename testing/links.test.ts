import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLinks } from './links.ts';

test('reads links with quoted and bare parameters', () => {
  assert.deepEqual(
    parseLinks('<http://x/a,b;c>; rel="next"; title="one, \\"two\\"; three", </rel>;REL=self ; type=text/html'),
    [
      { rel: 'next', href: 'http://x/a,b;c', title: 'one, "two"; three' },
      { rel: 'self', href: '/rel', type: 'text/html' },
    ],
  );
});

test('of two relations in one link the first counts', () => {
  assert.deepEqual(parseLinks('<x>; rel="a"; rel="b"'), [{ rel: 'a', href: 'x' }]);
});

for (const header of [
  '<x>',
  'x; rel="a"',
  '<x>; rel="a" <y>; rel="b"',
  '<x>; rel="a", ',
  '<x y>; rel="a"',
  '<x>; rel="a',
]) {
  test(`refuses ${header}`, () => {
    assert.throws(() => parseLinks(header), /link/i);
  });
}
