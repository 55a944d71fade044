/**
 * A ring of records in memory that two threads share: one writes, the other reads. What is written is seen when it is
 * published, and its room comes back when the reader releases it; until then the reader may use the bytes where they lie.
 * A record lies in one piece and begins with its length; all is counted in words of eight bytes.
 */

/** Numbers at the beginning of the memory: how many words were published, and how many released. They wrap around. */
const PUBLISHED = 0;
const RELEASED = 1;
const HEADER_BYTES = 16;

export const WORD = 8;

/** Where a record would begin, were there not too little room before the end of the ring. */
const GO_ON_AT_START = -1;

/** `bytes`: a power of two. */
export const createRingMemory = (bytes: number): SharedArrayBuffer => new SharedArrayBuffer(HEADER_BYTES + bytes);

/** A piece of memory that holds records: numbers by the word, and the same memory as bytes. */
export interface Memory {
  readonly words: Float64Array;
  readonly bytes: Buffer;
}

export const memoryOver = (buffer: ArrayBuffer | SharedArrayBuffer, from = 0): Memory => ({
  words: new Float64Array(buffer, from),
  bytes: Buffer.from(buffer as ArrayBuffer, from),
});

interface Ring extends Memory {
  readonly counts: Int32Array;
  readonly size: number;
}

function ringOver(memory: SharedArrayBuffer): Ring {
  const { words, bytes } = memoryOver(memory, HEADER_BYTES);
  return { counts: new Int32Array(memory, 0, HEADER_BYTES / 4), size: words.length, words, bytes };
}

export interface RingWriter extends Memory {
  /** Where a record of at most so many words may be written, or undefined while there is no room for it. */
  reserve(words: number): number | undefined;
  /** The record that was reserved last ends before this place. Its end among all that was ever written, see below. */
  end(at: number): number;
  /** Whether the reader has released what ends there. */
  isReleased(end: number): boolean;
  /** Shows the reader what was written. False: nothing is new. */
  publish(): boolean;
  /** Like `reserve`, but stands still until there is room. */
  reserveWaiting(words: number): number;
  /** Wakes a reader that waits for something new. */
  wake(): void;
}

export function createRingWriter(memory: SharedArrayBuffer): RingWriter {
  const { counts, size, words, bytes } = ringOver(memory);
  let written = Atomics.load(counts, PUBLISHED);
  let published = written;
  let start = 0;
  /** Words before it, at the end of the ring, that had too little room for it. */
  let skipped = 0;

  function reserve(wanted: number): number | undefined {
    const length = wanted + 1;
    const at = written & (size - 1);
    const free = size - ((written - Atomics.load(counts, RELEASED)) | 0);
    const toEnd = size - at;
    if (length <= toEnd) {
      if (length > free) return undefined;
      start = at;
      skipped = 0;
      return at + 1;
    }
    if (toEnd + length > free) return undefined;
    words[at] = GO_ON_AT_START;
    // Counted when the record ends: should whoever writes it fail, nothing of it is ever shown.
    skipped = toEnd;
    start = 0;
    return 1;
  }

  function publish(): boolean {
    if (published === written) return false;
    published = written;
    Atomics.store(counts, PUBLISHED, written);
    return true;
  }

  function wake(): void {
    Atomics.notify(counts, PUBLISHED);
  }

  return {
    words,
    bytes,
    reserve,
    end(at) {
      words[start] = at - start;
      written = (written + skipped + at - start) | 0;
      return written;
    },
    isReleased: (end) => ((Atomics.load(counts, RELEASED) - end) | 0) >= 0,
    publish,
    reserveWaiting(wanted) {
      if (wanted >= size / 2) throw new RangeError(`a record of ${wanted} words is too large`);
      for (;;) {
        const released = Atomics.load(counts, RELEASED);
        const at = reserve(wanted);
        if (at !== undefined) return at;
        // What was written may be what the reader has to take first.
        if (publish()) wake();
        Atomics.wait(counts, RELEASED, released);
      }
    },
    wake,
  };
}

export interface RingReader extends Memory {
  /** Where the next record begins, or undefined when all that was published is read. */
  next(): number | undefined;
  /** Gives back the room of all records read so far. */
  release(): void;
  /** Resolves when something new was published; undefined when that is the case already. */
  waitForNew(): Promise<unknown> | undefined;
}

export function createRingReader(memory: SharedArrayBuffer): RingReader {
  const { counts, size, words, bytes } = ringOver(memory);
  let read = Atomics.load(counts, RELEASED);
  let released = read;
  let published = read;
  return {
    words,
    bytes,
    next() {
      if (read === published) {
        published = Atomics.load(counts, PUBLISHED);
        if (read === published) return undefined;
      }
      let at = read & (size - 1);
      if (words[at] === GO_ON_AT_START) {
        read = (read + size - at) | 0;
        at = 0;
      }
      read = (read + (words[at] as number)) | 0;
      return at + 1;
    },
    release() {
      if (released === read) return;
      released = read;
      Atomics.store(counts, RELEASED, read);
      Atomics.notify(counts, RELEASED);
    },
    waitForNew() {
      const wait = Atomics.waitAsync(counts, PUBLISHED, read);
      return wait.async ? wait.value : undefined;
    },
  };
}
