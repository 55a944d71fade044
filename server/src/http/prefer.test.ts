import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../testing/properties.ts';
import { parsePrefer, preferenceApplied } from './prefer.ts';

test('reads the known preferences', () => {
  assert.deepEqual(parsePrefer(undefined), { respondAsync: false });
  assert.deepEqual(parsePrefer(''), { respondAsync: false });
  assert.deepEqual(parsePrefer('respond-async, wait=10'), { respondAsync: true, wait: 10 });
  assert.deepEqual(parsePrefer('Respond-Async ; x=y, WAIT = "0.25" ,return=minimal;foo="a,b", handling=strict'), {
    respondAsync: true,
    wait: 0.25,
    return: 'minimal',
    handling: 'strict',
  });
  assert.deepEqual(parsePrefer('respond-async=""'), { respondAsync: true });
});

test('the first of each counts', () => {
  assert.deepEqual(
    parsePrefer('wait=0, wait=2, return=representation, return=minimal, handling=lenient, handling=strict'),
    {
      respondAsync: false,
      wait: 0,
      return: 'representation',
      handling: 'lenient',
    },
  );
});

test('ignores what it cannot read', () => {
  for (const value of [
    'wait',
    'wait=',
    'wait=-1',
    'wait=1e3',
    'wait=.5',
    'wait=1.',
    'wait=abc',
    'wait="1',
    'wait=1 2',
    'wait=NaN',
    'wait=9999999999999',
  ]) {
    assert.deepEqual(parsePrefer(value), { respondAsync: false }, value);
  }
  assert.deepEqual(parsePrefer('respond-async=no, return=all, handling, ;;, =x, depth-noroot, wait=x, wait=3'), {
    respondAsync: false,
    wait: 3,
  });
});

test('writes what was honoured, and reads it back', () => {
  assert.equal(preferenceApplied([]), undefined);
  assert.equal(preferenceApplied(['handling=strict']), 'handling=strict');
  const all = preferenceApplied(['respond-async', 'wait=2.5', 'return=minimal', 'handling=strict']);
  assert.equal(all, 'respond-async, wait=2.5, return=minimal, handling=strict');
  assert.deepEqual(parsePrefer(all), { respondAsync: true, wait: 2.5, return: 'minimal', handling: 'strict' });
});

test('any value is survived', () => {
  const piece = fc.constantFrom('wait', '=', ',', ';', '"', '\\', ' ', '1', 'return', 'minimal', 'respond-async');
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string({ unit: 'binary', maxLength: 2 })), { maxLength: 30 }), (pieces) => {
      const { wait } = parsePrefer(pieces.join(''));
      assert.ok(wait === undefined || (Number.isFinite(wait) && wait >= 0));
    }),
  );
});
