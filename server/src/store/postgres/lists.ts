/**
 * Lists as PostgreSQL takes them in binary. Numbers as text cost both sides more than all else in a batch of posts.
 * A list in binary has to name the type of its elements, and it has to be the one that the statement asks for.
 */
const HEADER = 20;
const NULL = -1;
const TWO_TO_32 = 2 ** 32;

/** How elements of a type are written: how long one is, and its bytes. */
interface ElementType<T> {
  /** The number of pg_type. */
  readonly oid: number;
  lengthOf(value: T): number;
  write(buffer: Buffer, value: T, at: number, length: number): void;
}

export type ListEncoder = (list: readonly unknown[]) => Buffer;

function write32(buffer: Buffer, value: number, at: number): void {
  buffer[at] = value >>> 24;
  buffer[at + 1] = value >>> 16;
  buffer[at + 2] = value >>> 8;
  buffer[at + 3] = value;
}

/** One dimension that starts at 1; an empty list has no dimension. */
function encoderOf<T>({ oid, lengthOf, write }: ElementType<T>): ListEncoder {
  return (values) => {
    const list = values as readonly (T | null)[];
    let size = HEADER + 4 * list.length;
    let nulls = 0;
    for (let index = 0; index < list.length; index++) {
      const value = list[index] as T | null;
      if (value === null) nulls = 1;
      else size += lengthOf(value);
    }
    const buffer = Buffer.allocUnsafe(list.length === 0 ? HEADER - 8 : size);
    write32(buffer, list.length === 0 ? 0 : 1, 0);
    write32(buffer, nulls, 4);
    write32(buffer, oid, 8);
    if (list.length === 0) return buffer;
    write32(buffer, list.length, 12);
    write32(buffer, 1, 16);
    let at = HEADER;
    for (let index = 0; index < list.length; index++) {
      const value = list[index] as T | null;
      if (value === null) {
        write32(buffer, NULL, at);
        at += 4;
        continue;
      }
      const length = lengthOf(value);
      write32(buffer, length, at);
      write(buffer, value, at + 4, length);
      at += 4 + length;
    }
    return buffer;
  };
}

/** What does not fit is an error, as it would be in text: bytes that are cut off would make another number of it. */
function unfit(value: unknown, type: string): RangeError {
  return new RangeError(`${String(value)} is no ${type}`);
}

const smallint: ElementType<number> = {
  oid: 21,
  lengthOf: () => 2,
  write(buffer, value, at) {
    if ((value << 16) >> 16 !== value) throw unfit(value, 'smallint');
    buffer[at] = value >>> 8;
    buffer[at + 1] = value;
  },
};

const int: ElementType<number> = {
  oid: 23,
  lengthOf: () => 4,
  write(buffer, value, at) {
    if ((value | 0) !== value) throw unfit(value, 'int');
    write32(buffer, value, at);
  },
};

const bigint: ElementType<number> = {
  oid: 20,
  lengthOf: () => 8,
  write(buffer, value, at) {
    if (!Number.isSafeInteger(value)) throw unfit(value, 'bigint');
    write32(buffer, Math.floor(value / TWO_TO_32), at);
    write32(buffer, value, at + 4);
  },
};

const text: ElementType<string> = {
  oid: 25,
  lengthOf: (value) => Buffer.byteLength(value),
  write(buffer, value, at, length) {
    buffer.write(value, at, length, 'utf8');
  },
};

/** By the names that statements give the types of their parameters, as in `$1::bigint[]`. */
export const listEncoders: Readonly<Record<string, ListEncoder>> = {
  smallint: encoderOf(smallint),
  int: encoderOf(int),
  bigint: encoderOf(bigint),
  text: encoderOf(text),
};
