import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestName, slipOf } from './slips.ts';

const queries = ['persistent', 'delay', 'ttl', 'priority', 'max', 'per_page', 'status', 'external-key', 'at', 'force'];

test('a slip is a known name in another case, with other separators, or with a letter or two wrong', () => {
  for (const [given, meant] of [
    ['Max', 'max'],
    ['TTL', 'ttl'],
    ['per-page', 'per_page'],
    ['perPage', 'per_page'],
    ['external_key', 'external-key'],
    ['dealy', 'delay'],
    ['delays', 'delay'],
    ['state', 'status'],
    ['priorty', 'priority'],
    ['mx', 'max'],
    ['maxx', 'max'],
    ['amx', 'max'],
    ['tll', 'ttl'],
    ['ttll', 'ttl'],
  ] as const) {
    assert.equal(slipOf(given, queries), meant, given);
  }
});

test('a name that has nothing to do with the known ones is no slip', () => {
  for (const given of [
    'made-up',
    'utm_source',
    'source',
    'page',
    'wait',
    'name',
    'to',
    'may',
    'mac',
    'x',
    'a'.repeat(10_000),
    '',
  ]) {
    assert.equal(slipOf(given, queries), undefined, given.slice(0, 20));
  }
});

test('the nearest name may be further away', () => {
  assert.equal(nearestName('prot', ['host', 'port', 'data']), 'port');
  assert.equal(nearestName('database-uri', ['data', 'database']), undefined);
  assert.equal(nearestName('databse', ['data', 'database']), 'database');
});
