/**
 * multipart/mixed (RFC 2046): a batch of messages in one body, each part with headers of its own. Part bodies come
 * out byte for byte. Written here because the libraries for it are made for HTML forms: they fold header fields into
 * one record, drop bad ones silently and do not say which part is wrong.
 */
import { randomBytes } from 'node:crypto';
import { type ByteQueue, createByteQueue } from './byte-queue.ts';
import { readMediaType } from './field-reader.ts';

/** One part. Header names are as sent, values are decoded as latin1 like those of any HTTP header. */
export interface Part {
  headers: [name: string, value: string][];
  body: Buffer;
}

/** What a message may have at most; `headerBytes` counts for each part. */
export interface MultipartLimits {
  parts: number;
  headerBytes: number;
}

/** Reads a message as it comes in; once it has thrown, it throws the same error again. */
export interface MultipartParser {
  write(chunk: Buffer): void;
  end(): Part[];
}

/** A message that cannot be read. `part` is the 1-based number of the bad part, 0 when no part had begun. */
export class MultipartError extends Error {
  readonly kind: 'malformed' | 'too-many-parts' | 'header-too-big';
  readonly part: number;

  constructor(kind: MultipartError['kind'], part: number, message: string) {
    super(part === 0 ? message : `part ${part}: ${message}`);
    this.name = 'MultipartError';
    this.kind = kind;
    this.part = part;
  }
}

/** The boundary named by a Content-Type of any multipart kind; undefined when there is none or it is not allowed. */
export function boundaryOf(contentType: string): string | undefined {
  const media = readMediaType(contentType);
  if (!media?.essence.startsWith('multipart/')) return undefined;
  const boundary = media.parameters.find(({ name }) => name === 'boundary')?.value;
  return boundary !== undefined && /^[ -~]{0,69}[!-~]$/.test(boundary) ? boundary : undefined;
}

const headersEnd = Buffer.from('\r\n\r\n');
// Spaces that may follow a boundary on its line. The bound keeps looking ahead cheap.
const maxPadding = 64;

/**
 * Makes a parser. Each finished part goes to `onPart` if there is one and is then not kept; otherwise `end` returns
 * them all. The work is linear in the input, however it is cut into chunks.
 */
export function createMultipartParser(
  boundary: string,
  limits: MultipartLimits,
  onPart?: (part: Part) => void,
): MultipartParser {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  const queue = createByteQueue();
  const parts: Part[] = [];
  let state: 'preamble' | 'headers' | 'body' | 'done' = 'preamble';
  let number = 0;
  let headers: Part['headers'] = [];
  let failure: unknown;
  // Where the search goes on in the queue, so that no byte is searched twice.
  let searched = 0;
  // A message may begin with its boundary; a line break before it makes that one like all others.
  queue.push(Buffer.from('\r\n'));

  const fail = (message: string, kind: MultipartError['kind'] = 'malformed'): never => {
    throw new MultipartError(kind, number, message);
  };

  const consume = (count: number) => {
    queue.drop(count);
    searched = 0;
  };

  /** Finds the next delimiter line and takes it off, with all before it; false when more input is needed. */
  function readToDelimiter(ended: boolean): boolean {
    for (;;) {
      const at = queue.indexOf(delimiter, searched);
      if (at < 0) {
        searched = Math.max(searched, queue.length() - delimiter.length + 1);
        return false;
      }
      const line = restOfDelimiter(queue, at + delimiter.length, ended);
      if (line === 'unfinished') {
        searched = at;
        return false;
      }
      if (line === 'other') {
        // A longer line that only begins like a boundary is content.
        searched = at + 1;
        continue;
      }
      // The blank line after the headers was left in the queue: see `readHeaders`.
      if (state === 'body') finishPart(at === 0 ? Buffer.alloc(0) : queue.copy(2, at));
      state = line.last ? 'done' : 'headers';
      // The line break stays: with it, headers always end with an empty line, even when there are none.
      consume(line.end);
      if (!line.last) number += 1;
      if (number > limits.parts) fail(`there are more than ${limits.parts} parts`, 'too-many-parts');
      return true;
    }
  }

  /** Takes the headers off; false when more input is needed. */
  function readHeaders(): boolean {
    const at = queue.indexOf(headersEnd, searched);
    const size = at < 0 ? queue.length() - 3 : at;
    if (size > limits.headerBytes) fail(`its headers are larger than ${limits.headerBytes} bytes`, 'header-too-big');
    if (at < 0) {
      searched = Math.max(searched, queue.length() - headersEnd.length + 1);
      return false;
    }
    headers = parseHeaders(queue.copy(0, at).toString('latin1'), boundary, fail);
    // The second line break stays, because it may already be the first of the delimiter: a part without a body.
    consume(at + 2);
    state = 'body';
    return true;
  }

  function finishPart(body: Buffer): void {
    const part = { headers, body };
    if (onPart === undefined) parts.push(part);
    else onPart(part);
  }

  function advance(ended: boolean): void {
    let moved = true;
    while (moved && state !== 'done') moved = state === 'headers' ? readHeaders() : readToDelimiter(ended);
    // What comes before the first boundary and after the last is not ours to keep.
    if (state === 'done') consume(queue.length());
    else if (state === 'preamble') consume(searched);
  }

  function failUnended(): void {
    if (state === 'preamble') fail(`there is no line "--${boundary}" that ends with CR LF`);
    if (state === 'headers') fail('its headers do not end with an empty line (CR LF CR LF)');
    if (state === 'body') fail(`the end boundary "--${boundary}--" is missing after it`);
  }

  /** After a failure the state means nothing any more, so the failure stays. */
  function guarded(step: () => void): void {
    if (failure !== undefined) throw failure;
    try {
      step();
    } catch (error) {
      failure = error;
      throw error;
    }
  }

  return {
    write(chunk) {
      guarded(() => {
        if (state === 'done') return;
        queue.push(chunk);
        advance(false);
      });
    },
    end() {
      guarded(() => {
        advance(true);
        failUnended();
      });
      return parts;
    },
  };
}

/** Judges what follows a boundary: padding and a line break, after `--` for the last one. */
function restOfDelimiter(
  queue: ByteQueue,
  from: number,
  ended: boolean,
): { end: number; last: boolean } | 'other' | 'unfinished' {
  const dash = 0x2d;
  let at = from;
  const last = queue.at(at) === dash && queue.at(at + 1) === dash;
  if (last) at += 2;
  const limit = at + maxPadding;
  while (at < limit && (queue.at(at) === 0x20 || queue.at(at) === 0x09)) at += 1;
  const first = queue.at(at);
  const second = queue.at(at + 1);
  if (first === 0x0d && second === 0x0a) return { end: at, last };
  if (first === undefined && last && ended) return { end: at, last };
  const mayGoOn = first === undefined || (second === undefined && (first === 0x0d || (first === dash && at === from)));
  return mayGoOn && !ended ? 'unfinished' : 'other';
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerValue = /^[\t -~\x80-\xFF]*$/;

function parseHeaders(block: string, boundary: string, fail: (message: string) => never): Part['headers'] {
  const headers: Part['headers'] = [];
  // The block begins with the line break of the boundary's line.
  for (const line of block.split('\r\n').slice(1)) {
    if (line.startsWith(`--${boundary}`)) fail('its headers do not end with an empty line (CR LF CR LF)');
    const previous = headers.at(-1);
    if (previous !== undefined && /^[ \t]/.test(line)) {
      previous[1] = `${previous[1]} ${line.trim()}`.trim();
    } else {
      const colon = line.indexOf(':');
      if (colon < 0) fail(`a header line has no colon: ${shown(line)}`);
      const name = line.slice(0, colon);
      if (!headerName.test(name)) fail(`not a header name: ${shown(name)}`);
      headers.push([name, line.slice(colon + 1).trim()]);
    }
    const value = headers.at(-1)?.[1] ?? '';
    if (!headerValue.test(value)) fail(`the header ${headers.at(-1)?.[0]} contains a control character`);
  }
  return headers;
}

/** A piece of input as it can stand in a message. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}

/** Writes parts as one message. Characters that could end a header line are replaced by spaces. */
export function renderMultipart(parts: readonly { headers: readonly (readonly [string, string])[]; body: Buffer }[]): {
  contentType: string;
  body: Buffer;
} {
  let boundary = '';
  do boundary = randomBytes(18).toString('hex');
  while (parts.some(({ body }) => body.includes(boundary)));

  const pieces: Buffer[] = [];
  for (const { headers, body } of parts) {
    let head = `--${boundary}\r\n`;
    for (const [name, value] of headers) {
      if (!headerName.test(name)) throw new TypeError(`not a header name: ${shown(name)}`);
      head += `${name}: ${headerValue.test(value) ? value : value.replace(/[^\t -~\x80-\xFF]/g, ' ')}\r\n`;
    }
    pieces.push(Buffer.from(`${head}\r\n`, 'latin1'), body, Buffer.from('\r\n'));
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/mixed; boundary=${boundary}`, body: Buffer.concat(pieces) };
}
