import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONSUMED, DEAD, DELAYED, EXPIRED, LEASED, READY } from '../store/store.ts';
import { stateOf } from './message.ts';

test('what nobody has noted yet counts already, but a lease is good until it is over', () => {
  const now = 1000;
  for (const [state, due, expires, seen] of [
    [READY, null, null, 'available'],
    [READY, null, 1001, 'available'],
    [READY, null, 1000, 'expired'],
    [LEASED, 1001, null, 'leased'],
    [LEASED, 1001, 900, 'leased'],
    [LEASED, 1000, 900, 'expired'],
    [LEASED, 1000, null, 'available'],
    [DELAYED, 1001, null, 'delayed'],
    [DELAYED, 1001, 900, 'expired'],
    [DELAYED, 1000, null, 'available'],
    [CONSUMED, 900, 900, 'acknowledged'],
    [DEAD, 900, 900, 'dead'],
    [EXPIRED, 900, 900, 'expired'],
  ] as const) {
    assert.equal(stateOf({ state, due, expires }, now), seen, `${state} due ${due} expires ${expires}`);
  }
});
