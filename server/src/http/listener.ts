/** The listening socket: limits, malformed requests, and an orderly end. */
import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { newRequestId } from '../ids.ts';
import { Problem, type ProblemCode } from '../problems.ts';
import type { BodyReader } from './body.ts';
import { problemAnswer } from './problem-answer.ts';
import type { Dispatch } from './router.ts';

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
  const { host, port, maxHeaderSize, dispatch, bodies } = options;
  // A missing Host is answered by the router, with a problem like any other fault of the request.
  const server = createServer({ maxHeaderSize, requireHostHeader: false, keepAliveTimeout: 30_000 }, dispatch);
  server.on('clientError', answerMalformed);
  server.on('checkContinue', (message: IncomingMessage, response) => {
    if (bodies.refuse(message) === undefined) response.writeContinue();
    dispatch(message, response);
  });
  server.on('upgrade', (message, socket) => refuseUpgrade(message, socket as Socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: 4096 }, resolve);
  });
  const address = server.address() as AddressInfo;
  const hosts = ['0.0.0.0', '::'].includes(address.address) ? ['127.0.0.1'] : [address.address, host];
  return {
    port: address.port,
    addresses: hosts.map((name) => `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`),
    close: (milliseconds) => closeServer(server, milliseconds),
  };
}

async function closeServer(server: Server, milliseconds: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), milliseconds);
  await closed;
  clearTimeout(cut);
}

const MALFORMED: Readonly<Record<string, [ProblemCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers-too-large', 'the header fields are larger than the limit'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['too-large', 'the chunk extensions are too large'],
  HPE_INVALID_METHOD: ['method-unknown', 'the request method is not one this service knows'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'the request was not complete in time'],
};

/** Answers what the HTTP parser could not read. There is no request object, so the answer is written by hand. */
function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [code, detail] = MALFORMED[error.code ?? ''] ?? ['bad-request', 'the request is not well-formed HTTP/1.1'];
  writeRaw(socket, new Problem(code, detail));
}

/** No other protocol is spoken here; whoever asks for one is told so instead of waiting for an answer. */
function refuseUpgrade(_: IncomingMessage, socket: Socket): void {
  writeRaw(
    socket,
    new Problem('bad-request', 'no upgrade to another protocol is possible; leave out the Upgrade field'),
  );
}

function writeRaw(socket: Socket, problem: Problem): void {
  const { localAddress = '127.0.0.1', localPort = 80 } = socket;
  const base = `http://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
  const id = newRequestId();
  const { headers, body } = problemAnswer(problem, id, base, undefined);
  const fields = ['Connection', 'close', 'X-Request-Id', id, 'Content-Length', String(body.length), ...headers];
  let head = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n`;
  for (let i = 0; i < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`;
  socket.end(Buffer.concat([Buffer.from(`${head}\r\n`, 'latin1'), body]));
}
