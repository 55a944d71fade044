/**
 * One direction between the two threads. What is small goes through a ring of shared memory; what is large travels as
 * memory of its own that changes hands, and its place in the order is kept by a record in the ring.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import {
  createRecordReader,
  createRecordWriter,
  type KnownTexts,
  LARGE_BODY,
  type RecordReader,
  type RecordWriter,
  type SentTexts,
} from './record.ts';
import { createRingReader, createRingWriter, memoryOver, WORD } from './ring.ts';

/** Records beyond this do not go through the ring. */
const LARGE_WORDS = LARGE_BODY / WORD;

/** The first number of every record. */
const SMALL_RECORD = 0;
const PARCEL = 1;

interface Parcel {
  readonly memory: ArrayBuffer;
  /** Large bodies, which are not copied. */
  readonly beside: readonly Uint8Array[];
}

export interface LineWriter {
  /** Writes a record of at most so many words. False: there is no room at the moment. */
  write<T>(words: number, pack: (to: RecordWriter, item: T) => void, item: T): boolean;
  /** Like `write`, but stands still until there is room. */
  writeWaiting<T>(words: number, pack: (to: RecordWriter, item: T) => void, item: T): void;
  /** Shows the other side what was written. False: nothing is new. */
  publish(): boolean;
  /** Wakes a reader that waits for something new. */
  wake(): void;
  /** The bytes of large records that the other side has not taken yet. */
  largeBytesUnderWay(): number;
}

/** `handsOver`: large bodies are memory of their own and change hands; otherwise they are copied. */
export function createLineWriter(memory: SharedArrayBuffer, mail: MessagePort, handsOver: boolean): LineWriter {
  const ring = createRingWriter(memory);
  const sent: SentTexts = new Map();
  const small = createRecordWriter(ring, sent);
  /** Large records that were not taken yet. */
  const underWay: { readonly end: number; readonly bytes: number }[] = [];

  function writeAt<T>(at: number, words: number, pack: (to: RecordWriter, item: T) => void, item: T): void {
    small.moveTo(at);
    if (words <= LARGE_WORDS) {
      small.number(SMALL_RECORD);
      pack(small, item);
      ring.end(small.moveTo(0));
      return;
    }
    const beside: Uint8Array<ArrayBuffer>[] = [];
    const parcel: Parcel = { memory: new ArrayBuffer(words * WORD), beside };
    pack(createRecordWriter(memoryOver(parcel.memory), sent, handsOver ? beside : undefined), item);
    // Before they change hands: afterwards they have no length.
    const bytes = beside.reduce((sum, each) => sum + each.length, words * WORD);
    // Before the record that announces it is seen.
    mail.postMessage(parcel, [parcel.memory, ...beside.map(({ buffer }) => buffer)]);
    small.number(PARCEL);
    forgetTaken();
    underWay.push({ end: ring.end(small.moveTo(0)), bytes });
  }

  function forgetTaken(): void {
    while (underWay[0] !== undefined && ring.isReleased(underWay[0].end)) underWay.shift();
  }

  const inRing = (words: number): number => (words <= LARGE_WORDS ? words + 1 : 1);

  return {
    write(words, pack, item) {
      const at = ring.reserve(inRing(words));
      if (at === undefined) return false;
      writeAt(at, words, pack, item);
      return true;
    },
    writeWaiting(words, pack, item) {
      writeAt(ring.reserveWaiting(inRing(words)), words, pack, item);
    },
    publish() {
      // Each time: the ring's counters come round, and what was taken long ago would seem to be under way again.
      forgetTaken();
      return ring.publish();
    },
    wake: ring.wake,
    largeBytesUnderWay() {
      forgetTaken();
      return underWay.reduce((sum, { bytes }) => sum + bytes, 0);
    },
  };
}

export interface LineReader {
  /** The next record, or undefined when there is none at the moment. What it shows in place is good until the release. */
  next(): RecordReader | undefined;
  /** Gives back the room of what was read. True: large records were among it. */
  release(): boolean;
  /** Resolves when something new is there; undefined when it is there already. */
  waitForNew(): Promise<unknown> | undefined;
}

export function createLineReader(memory: SharedArrayBuffer, mail: MessagePort): LineReader {
  const ring = createRingReader(memory);
  const known: KnownTexts = [];
  const small = createRecordReader(ring, known);
  let tookLarge = false;
  return {
    next() {
      const at = ring.next();
      if (at === undefined) return undefined;
      small.moveTo(at);
      if (small.number() === SMALL_RECORD) return small;
      tookLarge = true;
      const { message } = receiveMessageOnPort(mail) as { message: Parcel };
      return createRecordReader(memoryOver(message.memory), known, message.beside);
    },
    release() {
      ring.release();
      const took = tookLarge;
      tookLarge = false;
      return took;
    },
    waitForNew: ring.waitForNew,
  };
}
