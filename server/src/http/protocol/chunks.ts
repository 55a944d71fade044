/** Undoes the chunked transfer coding, however its bytes are cut. */
import { Problem } from '../../problems.ts';
import { headersTooLarge, malformed } from './fields.ts';

/** What may come beside the content: extensions of chunks, and fields behind the last one. Both are forgotten. */
const MOST_BESIDE = 16 * 1024;

const SIZE = /^([0-9A-Fa-f]{1,13})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const TRAILER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/;

const LF = 0x0a;

export interface ChunkDecoder {
  /** Hands content to `take` and gives how many bytes belonged to this body: all of them until it is done. */
  read(bytes: Buffer, take: (content: Buffer) => void): number;
  readonly done: boolean;
}

export function createChunkDecoder(): ChunkDecoder {
  let state: 'size' | 'content' | 'end of content' | 'trailer' | 'done' = 'size';
  /** The beginning of a line whose end has not come. */
  let begun = '';
  /** Bytes of the present chunk that have not come. */
  let left = 0;
  let beside = 0;

  /** The end of the line that starts (or goes on) at a place, or undefined while it has not come. */
  function lineAt(bytes: Buffer, at: number): { line: string; end: number } | undefined {
    const end = bytes.indexOf(LF, at);
    begun += bytes.toString('latin1', at, end < 0 ? bytes.length : end);
    if (begun.length > MOST_BESIDE) throw tooMuchBeside();
    if (end < 0) return undefined;
    const line = begun;
    begun = '';
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
