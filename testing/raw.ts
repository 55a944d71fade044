import { connect } from 'node:net';

/** An answer as it stood on the wire. */
export type RawAnswer = {
  status: number;
  /** By lower-case name; a field that came several times is joined with commas. */
  headers: Record<string, string>;
  body: Buffer;
};

export type ConversationOptions = {
  /** Says goodbye (FIN) after the last byte: the request is all there will ever be. */
  end?: boolean;
  /** How many final answers to wait for; 1 unless told. The end of the connection ends the waiting, too. */
  answers?: number;
  /** The method the first answer is for, when it is HEAD: such an answer has no body whatever its length says. */
  head?: boolean;
  /** Milliseconds until the conversation fails. */
  timeout?: number;
};

/** Sends bytes as they are and gives the answers that came back before the server hung up or enough were there. */
export function converse(port: number, bytes: Buffer, options: ConversationOptions = {}): Promise<RawAnswer[]> {
  const { end = false, answers: wanted = 1, head = false, timeout = 20_000 } = options;
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let received = Buffer.alloc(0);
    const finish = (error?: Error) => {
      clearTimeout(timer);
      socket.destroy();
      if (error) reject(error);
      else resolve(parseAnswers(received, head));
    };
    const timer = setTimeout(
      () => finish(new Error(`No whole answer after ${timeout / 1000} s; so far: ${received.toString('latin1')}`)),
      timeout,
    );
    socket.on('connect', () => (end ? socket.end(bytes) : socket.write(bytes)));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (parseAnswers(received, head).length >= wanted) finish();
    });
    socket.on('end', () => finish());
    socket.on('close', () => finish());
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // Who is refused may find its writing refused, too. What counts is whether it can still read why.
      if (error.code === 'EPIPE') return;
      finish(error.code === 'ECONNRESET' && parseAnswers(received, head).length > 0 ? undefined : error);
    });
  });
}

/** The whole final answers at the beginning of the bytes; interim ones (1xx) are passed over. */
export function parseAnswers(bytes: Buffer, firstIsToHead = false): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) return answers;
    const [first = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(`${first} `)?.[1]);
    if (Number.isNaN(status)) throw new Error(`Not an answer: ${first}`);
    rest = rest.subarray(end + 4);
    if (status < 200) continue;
    const headers = fieldsOf(lines);
    const bodiless = status === 204 || status === 304 || (firstIsToHead && answers.length === 0);
    const length = bodiless ? 0 : Number(headers['content-length'] ?? Number.NaN);
    if (Number.isNaN(length)) throw new Error('Waypost always says how long its answers are.');
    if (rest.length < length) return answers;
    answers.push({ status, headers, body: rest.subarray(0, length) });
    rest = rest.subarray(length);
  }
}

function fieldsOf(lines: string[]): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    fields[name] = fields[name] === undefined ? value : `${fields[name]}, ${value}`;
  }
  return fields;
}
