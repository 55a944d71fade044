/** The listening socket: limits, malformed requests, and an orderly end. */
import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { newRequestId } from '../ids.ts';
import { Problem, type ProblemCode } from '../problems.ts';
import type { BodyReader } from './body.ts';
import { beginAnswer, latestAnswer } from './last-answer.ts';
import { problemAnswer } from './problem-answer.ts';
import type { Dispatch } from './router.ts';
import { LINGER_MILLISECONDS } from './writer.ts';

export interface Listener {
  readonly port: number;
  /** The addresses it listens on, as URLs. */
  readonly addresses: readonly string[];
  /** Stops accepting, lets what is in flight finish, then cuts off what is left after the time given. */
  close(milliseconds: number): Promise<void>;
}

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly maxHeaderSize: number;
  readonly dispatch: Dispatch;
  readonly bodies: BodyReader;
}

export async function listen(options: ListenerOptions): Promise<Listener> {
  const { host, port, maxHeaderSize, bodies } = options;
  const dispatch: Dispatch = (message, response) => {
    if (beginAnswer(message, response)) options.dispatch(message, response);
    else message.resume();
  };
  // A missing Host is answered by the router, with a problem like any other fault of the request.
  const server = createServer({ maxHeaderSize, requireHostHeader: false, keepAliveTimeout: 30_000 }, dispatch);
  const sockets = trackSockets(server);
  const malformed = createMalformedAnswers(bodies);
  server.on('clientError', (error, socket) => malformed(error, socket as Socket));
  server.on('checkContinue', (message: IncomingMessage, response) => {
    if (!beginAnswer(message, response)) return;
    if (bodies.refuse(message) === undefined) response.writeContinue();
    options.dispatch(message, response);
  });
  server.on('checkExpectation', dispatch);
  // No listener for upgrades: whoever asks for another protocol is answered in this one, as HTTP/1.1 allows.
  server.on('connect', (_, socket) => writeRaw(socket as Socket, new Problem('method-unknown', 'this is no proxy')));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: 4096 }, resolve);
  });
  const address = server.address() as AddressInfo;
  const hosts = ['0.0.0.0', '::'].includes(address.address) ? ['127.0.0.1'] : [address.address, host];
  return {
    port: address.port,
    addresses: hosts.map((name) => `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`),
    close: (milliseconds) => closeServer(server, sockets, milliseconds),
  };
}

const SWEEP_MILLISECONDS = 100;

/** The server itself forgets a connection on which it could not read a request. */
function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

async function closeServer(server: Server, sockets: ReadonlySet<Socket>, milliseconds: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // One that was busy may become idle without a word: its answer had begun before the end was near.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MILLISECONDS);
  const cut = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, milliseconds);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}

const MALFORMED: Readonly<Record<string, [ProblemCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers-too-large', 'the header fields are larger than the limit'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['too-large', 'the chunk extensions are too large'],
  HPE_INVALID_METHOD: ['method-unknown', 'the request method is not one this service knows'],
  HPE_INVALID_VERSION: ['version-unknown', 'only HTTP/1.1 and HTTP/1.0 are spoken here'],
  HPE_PAUSED_H2_UPGRADE: ['version-unknown', 'only HTTP/1.1 and HTTP/1.0 are spoken here'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'the request was not complete in time'],
};

type ParseError = Error & { code?: string; reason?: string; rawPacket?: Buffer; bytesParsed?: number };

const REQUEST_LINE = /^[!#$%&'*+.^_`|~\w-]+ \S+ HTTP\/\d\.\d\r?$/;

/** An unknown method or version is one only in a request that is otherwise HTTP; else it is just noise. */
function isHttp({ code, reason, rawPacket, bytesParsed = 0 }: ParseError): boolean {
  if (code === 'HPE_INVALID_VERSION') return reason === 'Invalid HTTP version';
  if (code !== 'HPE_INVALID_METHOD') return true;
  const text = rawPacket?.toString('latin1') ?? '';
  const from = text.lastIndexOf('\n', bytesParsed - 1) + 1;
  return REQUEST_LINE.test(text.slice(from).split('\n', 1)[0] ?? '');
}

const NOT_HTTP: [ProblemCode, string] = ['bad-request', 'the request is not well-formed HTTP/1.1'];

/**
 * Answers what the HTTP parser could not read. Answers keep the order of the requests: an error in the body of a request
 * is the answer to that request, and an error in what follows a request waits until that one has its answer. Otherwise a
 * client would take the refusal of garbage for the fate of the message it posted before.
 */
function createMalformedAnswers(bodies: BodyReader) {
  const refused = new WeakSet<Socket>();
  return (error: ParseError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    // The parser complains of each further piece.
    if (refused.has(socket)) return;
    refused.add(socket);
    const [code, detail] = (isHttp(error) && MALFORMED[error.code ?? '']) || NOT_HTTP;
    const problem = new Problem(code, detail);
    const before = latestAnswer(socket);
    if (before === undefined || before.writableFinished) writeRaw(socket, problem);
    else if (before.req.complete) before.once('close', () => writeRaw(socket, problem));
    else bodies.fail(before.req, problem);
  };
}

/** For requests that never became one: there is no response object, so the answer is written by hand. */
function writeRaw(socket: Socket, problem: Problem): void {
  if (!socket.writable) return;
  const { localAddress = '127.0.0.1', localPort = 80 } = socket;
  const base = `http://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
  const id = newRequestId();
  const { headers, body } = problemAnswer(problem, id, base, undefined);
  const fields = ['Connection', 'close', 'X-Request-Id', id, 'Content-Length', String(body.length), ...headers];
  let head = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n`;
  for (let i = 0; i < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  socket.end(Buffer.concat([Buffer.from(`${head}\r\n`, 'latin1'), body]));
  // Nobody else watches over a connection whose parser has given up.
  const cut = setTimeout(() => socket.destroy(), LINGER_MILLISECONDS);
  socket.once('close', () => clearTimeout(cut));
  socket.resume();
}
