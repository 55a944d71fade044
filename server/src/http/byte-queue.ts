/** Bytes that are appended at one end and dropped at the other, in linear time however they are cut. */
export interface ByteQueue {
  /** The bytes belong to the queue from then on. */
  push(chunk: Buffer): void;
  /** Takes bytes off the front. */
  drop(count: number): void;
  length(): number;
  /** The byte at a place counted from the front; undefined past the end. */
  at(index: number): number | undefined;
  indexOf(needle: Buffer, from: number): number;
  /** A copy that does not keep the rest of the queue in memory. */
  copy(from: number, to: number): Buffer;
}

/** Makes an empty queue. */
export function createByteQueue(): ByteQueue {
  let store: Buffer = Buffer.alloc(0);
  /** Whether it was made here, and may be written to. */
  let isOwn = true;
  let start = 0;
  let end = 0;

  return {
    push(chunk) {
      if (start === end) {
        // Nearly always all comes in one piece, which is used where it lies.
        store = chunk;
        isOwn = false;
        start = 0;
        end = chunk.length;
        return;
      }
      const needed = end - start + chunk.length;
      if (end + chunk.length > store.length) {
        // Move to the front only when that frees at least half of the store, else double it: both keep the cost of
        // moving in proportion to what was pushed.
        if (isOwn && needed <= store.length / 2) store.copy(store, 0, start, end);
        else {
          const larger = Buffer.allocUnsafeSlow(Math.max(needed, store.length * 2, 1024));
          store.copy(larger, 0, start, end);
          store = larger;
          isOwn = true;
        }
        end -= start;
        start = 0;
      }
      chunk.copy(store, end);
      end += chunk.length;
    },
    drop(count) {
      start = Math.min(start + count, end);
    },
    length: () => end - start,
    at: (index) => (start + index < end ? store[start + index] : undefined),
    indexOf: (needle, from) => store.subarray(start, end).indexOf(needle, from),
    copy: (from, to) => Buffer.from(store.subarray(start + from, Math.min(start + to, end))),
  };
}
