/** Request bodies that do not come in one piece: gathered in memory, bounded for each request and for all together. */
import { Problem } from '../../problems.ts';
import { createChunkDecoder } from './chunks.ts';
import type { Framing } from './fields.ts';

/** What bodies may take. */
export interface BodyLimits {
  /** Bytes of one body. */
  readonly body: number;
  /** Bytes of all bodies that are being received. */
  readonly buffered: number;
}

export interface BodyBudget {
  /** What is wrong with a body that was announced but has not come. */
  refuse(framing: Framing): Problem | undefined;
  /** A body that is about to come. */
  open(framing: Exclude<Framing, 'nothing'>): IncomingBody;
}

/** A body on its way in. */
export interface IncomingBody {
  /** Gives how many of the bytes belong to it: all of them until it is complete. Throws what the client is to be told. */
  read(bytes: Buffer): number;
  readonly isComplete: boolean;
  /** The content of a complete body. */
  content(): Buffer;
  /** Forgets what has come. */
  close(): void;
}

const EMPTY = Buffer.alloc(0);

/** Up to this size an announced body gets its room at once. Memory that nothing was written to is none. */
const ROOM_AT_ONCE = 256 * 1024;

export function createBodyBudget(limits: BodyLimits): BodyBudget {
  let buffered = 0;

  const tooLarge = (): Problem => new Problem('too-large', `the body is larger than the limit of ${limits.body} bytes`);
  const busy = (): Problem =>
    new Problem('busy', 'too many request bodies are being received', { headers: { 'Retry-After': '1' } });

  /** In one piece of memory that grows: a body may come byte by byte, and each piece of memory costs more than a byte. */
  function gather(expected: number | undefined) {
    let room = EMPTY;
    let size = 0;
    return {
      get size() {
        return size;
      },
      add(piece: Buffer) {
        if (size + piece.length > limits.body) throw tooLarge();
        if (buffered + piece.length > limits.buffered) throw busy();
        buffered += piece.length;
        if (size + piece.length > room.length) {
          const enough = Math.max(size + piece.length, room.length * 2, expected === undefined ? 0 : ROOM_AT_ONCE);
          const larger = Buffer.allocUnsafeSlow(Math.min(enough, expected ?? limits.body));
          room.copy(larger, 0, 0, size);
          room = larger;
        }
        piece.copy(room, size);
        size += piece.length;
      },
      content: () => room.subarray(0, size),
      close() {
        buffered -= size;
        size = 0;
        room = EMPTY;
      },
    };
  }

  function openCounted(length: number): IncomingBody {
    const gathered = gather(length);
    return {
      read(bytes) {
        const own = bytes.subarray(0, length - gathered.size);
        gathered.add(own);
        return own.length;
      },
      get isComplete() {
        return gathered.size === length;
      },
      content: gathered.content,
      close: gathered.close,
    };
  }

  function openChunked(): IncomingBody {
    const gathered = gather(undefined);
    const chunks = createChunkDecoder();
    return {
      read: (bytes) => chunks.read(bytes, gathered.add),
      get isComplete() {
        return chunks.done;
      },
      content: gathered.content,
      close: gathered.close,
    };
  }

  return {
    refuse(framing) {
      const announced = typeof framing === 'number' ? framing : 0;
      if (announced > limits.body) return tooLarge();
      return buffered > 0 && buffered + announced > limits.buffered ? busy() : undefined;
    },
    open: (framing) => (framing === 'chunks' ? openChunked() : openCounted(framing)),
  };
}
