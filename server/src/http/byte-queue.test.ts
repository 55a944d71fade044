import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fc } from '../../../testing/properties.ts';
import { createByteQueue } from './byte-queue.ts';

test('a queue holds what was pushed and not yet dropped', () => {
  const step = fc.oneof(
    fc.record({ push: fc.uint8Array({ maxLength: 3000 }) }),
    fc.record({ drop: fc.nat({ max: 3000 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const queue = createByteQueue();
      let model = Buffer.alloc(0);
      for (const action of steps) {
        if ('push' in action) {
          queue.push(Buffer.from(action.push));
          model = Buffer.concat([model, action.push]);
        } else {
          queue.drop(action.drop);
          model = model.subarray(action.drop);
        }
        assert.equal(queue.length(), model.length);
        assert.ok(queue.copy(0, queue.length()).equals(model));
        assert.equal(queue.at(0), model[0]);
        assert.equal(queue.at(model.length), undefined);
      }
    }),
  );
});

test('searching begins at the front, and a copy is independent', () => {
  const queue = createByteQueue();
  queue.push(Buffer.from('abcabc'));
  queue.drop(1);
  assert.equal(queue.indexOf(Buffer.from('bc'), 0), 0);
  assert.equal(queue.indexOf(Buffer.from('bc'), 1), 3);
  assert.equal(queue.indexOf(Buffer.from('a'), 3), -1);
  const copy = queue.copy(0, 2);
  queue.drop(5);
  queue.push(Buffer.alloc(2000, 'x'));
  assert.equal(copy.toString(), 'bc');
});
