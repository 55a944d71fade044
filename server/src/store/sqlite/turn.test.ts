import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { eventually } from '../../../../testing/eventually.ts';
import { createBlockingTurn, createTurn, createTurnMemory } from './turn.ts';

/** A thread that takes its turn so many times, and each time counts with two steps that another could come between. */
function countingThread(memory: SharedArrayBuffer, counter: SharedArrayBuffer, times: number): Worker {
  const code = `
    import { workerData } from 'node:worker_threads';
    const { memory, counter, times, module } = workerData;
    const { createBlockingTurn } = await import(module);
    const turn = createBlockingTurn(memory);
    const numbers = new Int32Array(counter);
    for (let i = 0; i < times; i++) {
      turn.take();
      const seen = numbers[0];
      for (let wait = 0; wait < 100; wait++);
      numbers[0] = seen + 1;
      turn.give();
    }`;
  const workerData = { memory, counter, times, module: new URL('./turn.ts', import.meta.url).href };
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { workerData });
}

test('threads that count in turns lose no count', async () => {
  const memory = createTurnMemory();
  const counter = new SharedArrayBuffer(4);
  const numbers = new Int32Array(counter);
  const turn = createTurn(memory);
  const times = 3000;
  const threads = [countingThread(memory, counter, times), countingThread(memory, counter, times)];
  const ended = Promise.all(threads.map((thread) => once(thread, 'exit')));
  for (let i = 0; i < times; i++) {
    await turn.take();
    const seen = numbers[0] as number;
    // Other things happen here meanwhile, as they do in a job that awaits its statements.
    await undefined;
    numbers[0] = seen + 1;
    turn.give();
  }
  await ended;
  assert.equal(numbers[0], 3 * times);
});

test('who comes first is served first, whoever it is', async () => {
  const memory = createTurnMemory();
  const counter = new SharedArrayBuffer(4);
  const numbers = new Int32Array(counter);
  const turn = createTurn(memory);
  assert.equal(turn.take(), undefined, 'a free turn is taken without waiting');
  const thread = countingThread(memory, counter, 1);
  const drawn = new Int32Array(memory);
  await eventually('the thread waits', () => Atomics.load(drawn, 0) === 2);
  const second = turn.take();
  assert.ok(second instanceof Promise);
  assert.equal(numbers[0], 0, 'nobody else is served before the turn is given back');
  turn.give();
  await second;
  assert.equal(numbers[0], 1, 'the thread was first');
  turn.give();
  await once(thread, 'exit');
});

test('a thread with nothing else to do takes a free turn at once', () => {
  const memory = createTurnMemory();
  const turns = [createBlockingTurn(memory), createBlockingTurn(memory)];
  for (const turn of [...turns, ...turns]) {
    turn.take();
    turn.give();
  }
  assert.deepEqual([...new Int32Array(memory)].slice(0, 2), [4, 4]);
});

test('who has one turn after another knows that nobody has changed anything', async () => {
  const memory = createTurnMemory();
  const mine = createBlockingTurn(memory);
  const copying = createBlockingTurn(memory);
  const undisturbed = (): boolean => {
    mine.take();
    mine.give();
    return mine.isUndisturbed();
  };
  assert.equal(undisturbed(), false, 'nothing is known at first');
  assert.equal(undisturbed(), true);
  const other = createTurn(memory);
  assert.equal(other.take(), undefined);
  other.give();
  assert.equal(undisturbed(), false);
  assert.equal(undisturbed(), true);
  copying.take();
  copying.give();
  assert.equal(undisturbed(), true, 'copying the WAL changes nothing');
  assert.equal(other.take(), undefined);
  const again = other.take();
  other.give();
  await again;
  other.give();
  assert.equal(undisturbed(), false, 'two turns are no less than one');
});
