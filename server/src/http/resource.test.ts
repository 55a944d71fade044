import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paths } from '../paths.ts';
import { type Resource, resource } from './resource.ts';

/** What may stand between `<` and `>` of a Link field, and in any other field (RFC 3986). */
const CLEAN = /^\/[A-Za-z0-9._~%!'()*/-]*$/;

const isResource = (value: object): value is Resource => 'template' in value;
const all = (from: object): Resource[] =>
  Object.values(from).flatMap((value: object) => (isResource(value) ? [value] : all(value)));

test('an address holds nothing that needs encoding, whatever its parts are', () => {
  const anything = [...Array(0x250).keys()].map((code) => String.fromCodePoint(code));
  const values = [...anything, 'a\r\nX: y', '><', '../..', '😀', 'Ā\u010A'];
  const { href } = resource('/queues/{name}/messages/{id}');
  for (const value of values) {
    const path = href({ name: value, id: `a${value}b` });
    assert.match(path, CLEAN);
    const [, , name, , id] = path.split('/').map(decodeURIComponent);
    assert.deepEqual([name, id], [value, `a${value}b`]);
  }
});

test('the same is true of all addresses of the service', () => {
  const resources = all(paths);
  assert.ok(resources.length > 50);
  for (const { href, parameters } of resources) {
    assert.match(href(Object.fromEntries(parameters.map((name) => [name, '>\r\n"']))), CLEAN);
  }
});
