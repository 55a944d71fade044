import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGate } from './gate.ts';
import type { Exchange } from './protocol/exchange.ts';

test('what comes before the gate is open is held back, and then dealt with in its order', () => {
  const exchanges = [1, 2, 3].map((n) => ({ n }) as unknown as Exchange);
  const [one, two, three] = exchanges as [Exchange, Exchange, Exchange];
  const done: Exchange[] = [];
  const gate = createGate();
  gate.dispatch(one);
  gate.dispatch(two);
  assert.equal(done.length, 0);
  gate.open((exchange) => void done.push(exchange));
  assert.deepEqual(done, [one, two]);
  gate.dispatch(three);
  assert.deepEqual(done, [one, two, three]);
});
