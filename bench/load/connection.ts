/** A keep-alive connection with one request at a time, and just enough HTTP/1.1 to know when its answer is complete. */
import { connect } from 'node:net';

/** Status and head of the answer. The body is counted, not kept. */
export type OnAnswer = (status: number, head: string) => void;

export interface Connection {
  send(request: Buffer): void;
  /** Who is told of the next answers. */
  onAnswer: OnAnswer;
  /** Who is told when the server hangs up. */
  onLost: (error: Error) => void;
  close(): void;
}

const HEAD_END = Buffer.from('\r\n\r\n');
/** As most servers write it. */
const LENGTH = '\r\nContent-Length: ';
const LENGTH_OF_OTHERS = /\r\ncontent-length: *(\d+)/i;
/** Every connection reads into the same memory: what is read is looked at before anything else is read. */
const READ_BUFFER = Buffer.allocUnsafe(256 * 1024);

export function openConnection(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let head = '';
    let wholeHead = '';
    /** Bytes of the body still to come; -1 while the head is not complete. */
    let left = -1;
    let status = 0;

    const socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: READ_BUFFER,
        callback(length, chunk) {
          take(chunk as Buffer, length);
          return true;
        },
      },
    });

    function take(chunk: Buffer, length: number): void {
      let body = length;
      if (left < 0) {
        // Nearly always the whole head is here at once.
        const end = head === '' ? chunk.subarray(0, length).indexOf(HEAD_END) : -1;
        head += chunk.toString('latin1', 0, end < 0 ? length : end);
        const headLength = end < 0 ? head.indexOf('\r\n\r\n') : end;
        if (headLength < 0) return;
        body = end < 0 ? head.length - headLength - 4 : length - end - 4;
        status = Number(head.slice(9, 12));
        left = status === 204 ? 0 : contentLength(head, headLength);
        wholeHead = head;
        head = '';
      }
      left -= body;
      if (left > 0) return;
      left = -1;
      connection.onAnswer(status, wholeHead);
    }

    const connection: Connection = {
      onAnswer: () => {},
      onLost: () => {},
      send: (request) => void socket.write(request),
      close() {
        connection.onLost = () => {};
        socket.destroy();
      },
    };
    socket.once('connect', () => resolve(connection));
    socket.once('error', (error) => {
      reject(error);
      connection.onLost(error);
    });
    socket.once('close', () => connection.onLost(new Error('the server hung up')));
  });
}

function contentLength(text: string, headLength: number): number {
  const at = text.indexOf(LENGTH);
  if (at < 0 || at >= headLength) return Number(LENGTH_OF_OTHERS.exec(text.slice(0, headLength))?.[1] ?? 0);
  let length = 0;
  for (let i = at + LENGTH.length; i < headLength; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (!(digit >= 0 && digit <= 9)) break;
    length = length * 10 + digit;
  }
  return length;
}

/** Opens many, a few at a time so that no backlog overflows. */
export async function openConnections(ports: readonly number[], count: number): Promise<Connection[]> {
  const connections: Connection[] = [];
  while (connections.length < count) {
    const some = Array.from({ length: Math.min(100, count - connections.length) }, (_, i) =>
      openConnection(ports[(connections.length + i) % ports.length] as number),
    );
    connections.push(...(await Promise.all(some)));
  }
  return connections;
}

export interface RequestParts {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes of body; 0: none. */
  readonly bodyBytes?: number | undefined;
  /** Or the body itself. */
  readonly body?: string | undefined;
}

/** The request as it goes over the wire, made once and sent many times. */
export function requestBytes({ method, path, headers = {}, bodyBytes = 0, body }: RequestParts): Buffer {
  const content = body === undefined ? Buffer.alloc(bodyBytes, 'x') : Buffer.from(body);
  const fields = { Host: '127.0.0.1', ...headers, 'Content-Length': String(content.length) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'), content]);
}
