/** Undoes the chunked transfer coding, however its bytes are cut. */
import { Problem } from '../../problems.ts';
import { headersTooLarge, malformed } from './fields.ts';

/** What may come beside the content: extensions of chunks, and fields behind the last one. Both are forgotten. */
const MOST_BESIDE = 16 * 1024;

/** Extensions are forgotten, but must be such: where another reader might stop at them, this one does not go on. */
const SIZE = (() => {
  const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
  const quoted = '"(?:[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t\\x20-\\x7e\\x80-\\xff])*"';
  return new RegExp(`^([0-9A-Fa-f]{1,13})(?:;${token}(?:=(?:${token}|${quoted}))?)*$`);
})();
const TRAILER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;

/** Fields that say where a message or a connection ends: behind the last chunk they would be obeyed by some only. */
const FRAMING = /^(?:content-length|transfer-encoding|connection|upgrade):/i;

const LF = 0x0a;
const EMPTY = Buffer.alloc(0);

export interface ChunkDecoder {
  /** Hands content to `take` and gives how many bytes belonged to this body: all of them until it is done. */
  read(bytes: Buffer, take: (content: Buffer) => void): number;
  readonly done: boolean;
}

export function createChunkDecoder(): ChunkDecoder {
  let state: 'size' | 'content' | 'end of content' | 'trailer' | 'done' = 'size';
  /** The beginning of a line whose end has not come. As a text that grows byte by byte it would take thirty times as much. */
  let begun: Buffer = EMPTY;
  /** Bytes of the present chunk that have not come. */
  let left = 0;
  let beside = 0;

  /** The end of the line that starts (or goes on) at a place, or undefined while it has not come. */
  function lineAt(bytes: Buffer, at: number): { line: string; end: number } | undefined {
    const found = bytes.indexOf(LF, at);
    const end = found < 0 ? bytes.length : found;
    const length = begun.length + end - at;
    if (length > MOST_BESIDE) throw tooMuchBeside();
    if (state === 'end of content' && length > 1) throw malformed('a chunk is longer than its size');
    if (found < 0) {
      begun = Buffer.concat([begun, bytes.subarray(at)]);
      return undefined;
    }
    const line = begun.toString('latin1') + bytes.toString('latin1', at, end);
    begun = EMPTY;
    if (!line.endsWith('\r')) throw malformed('a line of the chunked body does not end with CR LF');
    return { line: line.slice(0, -1), end: end + 1 };
  }

  function tooMuchBeside(): Problem {
    return state === 'trailer' ? headersTooLarge() : new Problem('too-large', 'the chunk extensions are too large');
  }

  function addBeside(length: number): void {
    beside += length;
    if (beside > MOST_BESIDE) throw tooMuchBeside();
  }

  function takeLine(line: string): void {
    if (state === 'size') {
      const size = SIZE.exec(line)?.[1];
      if (size === undefined) throw malformed('the size of a chunk is not a hexadecimal number');
      addBeside(line.length - size.length);
      left = Number.parseInt(size, 16);
      state = left === 0 ? 'trailer' : 'content';
    } else if (state === 'end of content') {
      if (line !== '') throw malformed('a chunk is longer than its size');
      state = 'size';
    } else if (line === '') {
      state = 'done';
    } else {
      if (!TRAILER.test(line)) throw malformed('a field behind the last chunk is malformed');
      if (FRAMING.test(line)) throw malformed('a field behind the last chunk belongs before the first');
      addBeside(line.length);
    }
  }

  return {
    get done() {
      return state === 'done';
    },
    read(bytes, take) {
      let at = 0;
      while (at < bytes.length && state !== 'done') {
        if (state === 'content') {
          const content = bytes.subarray(at, at + left);
          take(content);
          at += content.length;
          left -= content.length;
          if (left === 0) state = 'end of content';
        } else {
          const found = lineAt(bytes, at);
          if (found === undefined) return bytes.length;
          takeLine(found.line);
          at = found.end;
        }
      }
      return at;
    },
  };
}
