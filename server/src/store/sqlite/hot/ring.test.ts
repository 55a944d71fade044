import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { fc } from '../../../../../testing/properties.ts';
import { createRingMemory, createRingReader, createRingWriter, WORD } from './ring.ts';

const SIZE = 64;

/** A ring of 64 words. `counted`: so many words have gone through it. */
function openRing(counted = 0) {
  const memory = createRingMemory(SIZE * WORD);
  new Int32Array(memory).fill(counted, 0, 2);
  return { writer: createRingWriter(memory), reader: createRingReader(memory) };
}

type Ring = ReturnType<typeof openRing>;

function write({ writer }: Ring, length: number, value: number): boolean {
  const at = writer.reserve(length);
  if (at === undefined) return false;
  writer.words.fill(value, at, at + length);
  writer.end(at + length);
  return true;
}

/** Length and value of the next record. */
function read({ reader }: Ring): [number, number] | undefined {
  const at = reader.next();
  if (at === undefined) return undefined;
  const length = (reader.words[at - 1] as number) - 1;
  const values = new Set(reader.words.subarray(at, at + length));
  assert.equal(values.size, 1);
  return [length, reader.words[at] as number];
}

test('records come out as they went in, also where the ring and its counters begin anew', () => {
  const step = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom('publish', 'read', 'release'));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.constantFrom(0, 0x7fffff00), (steps, counted) => {
      const ring = openRing(counted);
      const written: [number, number][] = [];
      let seen = 0;
      let published = 0;
      for (const [value, what] of steps.entries()) {
        if (typeof what === 'number') {
          if (write(ring, what, value)) written.push([what, value]);
        } else if (what === 'publish') {
          assert.equal(ring.writer.publish(), published < written.length);
          published = written.length;
        } else if (what === 'release') ring.reader.release();
        else {
          const next = read(ring);
          assert.deepEqual(next, seen < published ? written[seen] : undefined);
          if (next !== undefined) seen++;
        }
      }
    }),
  );
});

test('of a record that was begun and never ended nothing is seen', () => {
  const ring = openRing();
  write(ring, SIZE - 5, 1);
  ring.writer.publish();
  read(ring);
  ring.reader.release();
  // It would have to begin at the start of the ring.
  assert.equal(ring.writer.reserve(10), 1);
  assert.equal(ring.writer.publish(), false);
  write(ring, 2, 7);
  write(ring, 10, 8);
  ring.writer.publish();
  assert.deepEqual([read(ring), read(ring), read(ring)], [[2, 7], [10, 8], undefined]);
});

test('what is full has room again when it was released, not when it was read', () => {
  const ring = openRing();
  let records = 0;
  while (write(ring, 7, records)) records++;
  assert.equal(records, SIZE / 8);
  ring.writer.publish();
  read(ring);
  assert.equal(write(ring, 7, 99), false);
  ring.reader.release();
  assert.equal(write(ring, 7, 99), true);
  assert.equal(write(ring, 7, 100), false);
});

test('a reader hears of what is new, and of nothing else', async () => {
  const ring = openRing();
  const heard = ring.reader.waitForNew();
  assert.ok(heard !== undefined);
  write(ring, 1, 5);
  ring.writer.publish();
  ring.writer.wake();
  await heard;
  assert.equal(ring.reader.waitForNew(), undefined);
  assert.deepEqual(read(ring), [1, 5]);
  assert.notEqual(ring.reader.waitForNew(), undefined);
  ring.writer.wake();
});

test('a writer that waits for room shows what it has written and goes on when it is released', async () => {
  const memory = createRingMemory(SIZE * WORD);
  const reader = createRingReader(memory);
  const worker = new Worker(
    `import { workerData } from 'node:worker_threads';
     const { createRingWriter } = await import(workerData.ring);
     const writer = createRingWriter(workerData.memory);
     for (let value = 0; value < 100; value++) {
       const at = writer.reserveWaiting(20);
       writer.words.fill(value, at, at + 20);
       writer.end(at + 20);
     }
     writer.publish();
     writer.wake();`,
    { eval: true, workerData: { memory, ring: new URL('./ring.ts', import.meta.url).href } },
  );
  for (let value = 0; value < 100; ) {
    const at = reader.next();
    if (at === undefined) {
      reader.release();
      await reader.waitForNew();
    } else assert.equal(reader.words[at + 19], value++);
  }
  await worker.terminate();
});

test('a record that would never find room is refused', () => {
  assert.throws(() => openRing().writer.reserveWaiting(SIZE), RangeError);
});
