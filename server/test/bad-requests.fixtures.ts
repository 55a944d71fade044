/** What a row of the table of malformed requests looks like, and how its bytes are put together. */
import type { ProblemCode } from '../src/problems.ts';

export type BadRequest = {
  what: string;
  bytes: Buffer;
  status: number;
  code: ProblemCode;
  /** The client hangs up (FIN) after the last byte. */
  end?: boolean;
};

/** The bytes of a request, one character one byte. */
export const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** A row of raw bytes. Lines are joined by CRLF; the last one is the body. */
export function raw(what: string, lines: string[], status: number, code: ProblemCode): BadRequest {
  return { what, bytes: bytesOf(lines.join('\r\n')), status, code };
}

export type Content = { type?: string; body?: string | Buffer; headers?: Record<string, string> };

/** A row that is well-formed HTTP: `METHOD target`, header fields and a body with its true length. */
export function sent(what: string, line: string, content: Content, status: number, code: ProblemCode): BadRequest {
  return { what, bytes: requestBytes(line, content), status, code };
}

export function requestBytes(line: string, { type, body, headers = {} }: Content = {}): Buffer {
  const fields = { Host: '127.0.0.1', ...(type === undefined ? {} : { 'Content-Type': type }), ...headers };
  const content = body === undefined ? Buffer.alloc(0) : Buffer.from(body);
  const length = body === undefined ? '' : `Content-Length: ${content.length}\r\n`;
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([bytesOf(`${line} HTTP/1.1\r\n${lines.join('')}${length}\r\n`), content]);
}
