/**
 * Numbers, texts and bytes one after another in a piece of memory. Most messages have the same few texts: each of them
 * travels once, and then as its number.
 */
import { asBuffer } from '../connection.ts';
import { type Memory, WORD } from './ring.ts';

/** Texts that both sides remember, and how long one may be. When there are as many, further ones travel as they are. */
const MOST_TEXTS = 1000;
const LONGEST_TEXT = 200;

/** Stand where the number of a text would. */
const NO_TEXT = -1;
const TEXT_FOLLOWS = -2;
const NEW_TEXT_FOLLOWS = -3;

/** Stands where the length of bytes would that lie beside the record. */
const BESIDE = -1;

/** No more than three bytes of UTF-8 for a unit of UTF-16. */
const MOST_BYTES_OF_UNIT = 3;

/** From this size on a body lies beside its record, where it need not be copied. */
export const LARGE_BODY = 64 * 1024;

export const wordsOfBytes = (bytes: number): number => Math.ceil(bytes / WORD);

/** Room for a text, however it travels. */
export const wordsOfText = (text: string | null): number =>
  3 + (text === null ? 0 : wordsOfBytes(text.length * MOST_BYTES_OF_UNIT));

/** What the writer of a line knows the other side to remember. */
export type SentTexts = Map<string, number>;
/** What the reader of a line remembers. */
export type KnownTexts = string[];

export interface RecordWriter {
  number(value: number): void;
  numberOrNull(value: number | null): void;
  text(value: string | null): void;
  bytes(value: Uint8Array): void;
  /** Goes to another place, and tells where it was. */
  moveTo(at: number): number;
}

/** `beside`: takes large bodies as they are. */
export function createRecordWriter({ words, bytes }: Memory, sent: SentTexts, beside?: Uint8Array[]): RecordWriter {
  let at = 0;

  function textItself(value: string): void {
    const length = bytes.write(value, (at + 1) * WORD, 'utf8');
    words[at] = length;
    at += 1 + wordsOfBytes(length);
  }

  return {
    number(value) {
      words[at++] = value;
    },
    numberOrNull(value) {
      words[at++] = value ?? Number.NaN;
    },
    text(value) {
      const known = value === null ? NO_TEXT : sent.get(value);
      if (known !== undefined) {
        words[at++] = known;
        return;
      }
      const text = value as string;
      if (text.length <= LONGEST_TEXT && sent.size < MOST_TEXTS) {
        words[at++] = NEW_TEXT_FOLLOWS;
        words[at++] = sent.size;
        sent.set(text, sent.size);
      } else words[at++] = TEXT_FOLLOWS;
      textItself(text);
    },
    bytes(value) {
      if (beside !== undefined && value.length >= LARGE_BODY) {
        words[at++] = BESIDE;
        beside.push(value);
        return;
      }
      words[at++] = value.length;
      bytes.set(value, at * WORD);
      at += wordsOfBytes(value.length);
    },
    moveTo(place) {
      const before = at;
      at = place;
      return before;
    },
  };
}

export interface RecordReader {
  number(): number;
  numberOrNull(): number | null;
  text(): string;
  textOrNull(): string | null;
  /** The bytes where they lie. */
  view(): Uint8Array;
  /** The same bytes to keep: a copy where the memory is used again. */
  keep(): Buffer;
  moveTo(at: number): void;
}

export function createRecordReader(
  { words, bytes }: Memory,
  known: KnownTexts,
  beside: readonly Uint8Array[] = [],
): RecordReader {
  const { buffer, byteOffset } = bytes;
  const isUsedAgain = (buffer as unknown) instanceof SharedArrayBuffer;
  let takenBeside = 0;
  let at = 0;

  function textItself(): string {
    const length = words[at] as number;
    const from = (at + 1) * WORD;
    at += 1 + wordsOfBytes(length);
    return bytes.toString('utf8', from, from + length);
  }

  function textOrNull(): string | null {
    const number = words[at++] as number;
    if (number >= 0) return known[number] as string;
    if (number === NO_TEXT) return null;
    if (number === TEXT_FOLLOWS) return textItself();
    const place = words[at++] as number;
    const text = textItself();
    known[place] = text;
    return text;
  }

  return {
    number: () => words[at++] as number,
    numberOrNull() {
      const value = words[at++] as number;
      return Number.isNaN(value) ? null : value;
    },
    text: () => textOrNull() as string,
    textOrNull,
    view() {
      const length = words[at++] as number;
      if (length === BESIDE) return beside[takenBeside++] as Uint8Array;
      const from = at * WORD;
      at += wordsOfBytes(length);
      return new Uint8Array(buffer, byteOffset + from, length);
    },
    keep() {
      const length = words[at++] as number;
      if (length === BESIDE) return asBuffer(beside[takenBeside++] as Uint8Array);
      const from = at * WORD;
      at += wordsOfBytes(length);
      if (!isUsedAgain) return bytes.subarray(from, from + length);
      const copy = Buffer.allocUnsafe(length);
      bytes.copy(copy, 0, from, from + length);
      return copy;
    },
    moveTo(place) {
      at = place;
    },
  };
}
