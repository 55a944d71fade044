import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { createLineReader, createLineWriter } from './line.ts';
import type { RecordWriter } from './record.ts';
import { createRingMemory } from './ring.ts';

/** Takes this many words without writing them. */
const skip = (to: RecordWriter, words: number): void => void to.moveTo(to.moveTo(0) + words);

function open() {
  const { port1, port2 } = new MessageChannel();
  const memory = createRingMemory(1024 * 1024);
  const writer = createLineWriter(memory, port1, true);
  const reader = createLineReader(memory, port2);
  const takeAll = (): void => {
    while (reader.next() !== undefined);
    reader.release();
  };
  return { writer, takeAll, close: () => port1.close() };
}

test('a large record that was taken is not under way again when the counters of the ring come round', () => {
  const { writer, takeAll, close } = open();
  const large = 10_000;
  assert.ok(writer.write(large, skip, 1));
  assert.equal(writer.largeBytesUnderWay(), large * 8);
  writer.publish();
  takeAll();
  // Somewhat more than 2 ** 31 words, and nobody asks meanwhile.
  const words = 8000;
  for (let gone = 0; gone < 2 ** 31; gone += words) {
    assert.ok(writer.write(words, skip, words));
    writer.publish();
    takeAll();
  }
  assert.equal(writer.largeBytesUnderWay(), 0);
  close();
});
