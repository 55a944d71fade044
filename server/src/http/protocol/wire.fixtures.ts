/** The same bytes for two readers: our connection and the HTTP server of the runtime, both without a network. */
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createBodyBudget } from './body.ts';
import { Connection, type ConnectionGround } from './connection.ts';

/** A request that was read to its end. */
export interface ReadRequest {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  /** Names and values in turns, as they were sent. */
  readonly fields: readonly string[];
  readonly body: string;
}

/** Takes the pieces one by one, then a goodbye, and gives the requests that were found in them. */
export type Reader = (pieces: readonly Buffer[]) => Promise<ReadRequest[]>;

export const MAX_HEADER_SIZE = 4096;
const MAX_BODY = 4096;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One end of a connection whose other end is this test: every piece arrives as it is, never joined with another. */
async function play(pieces: readonly Buffer[], connect: (socket: Socket) => void): Promise<void> {
  const line = new Duplex({
    allowHalfOpen: true,
    read() {},
    write: (_chunk, _encoding, done) => done(),
  });
  line.on('error', () => {});
  const closed = new Promise<void>((resolve) => line.once('close', () => resolve()));
  connect(line as unknown as Socket);
  for (const piece of pieces) {
    line.push(piece);
    await nextTurn();
  }
  line.push(null);
  await closed;
}

export const readByUs: Reader = async (pieces) => {
  const found: ReadRequest[] = [];
  const ground: ConnectionGround = {
    maxHeaderSize: MAX_HEADER_SIZE,
    bodies: createBodyBudget({ body: MAX_BODY, buffered: MAX_BODY }),
    refusal: () => ({ fields: [], body: Buffer.alloc(0) }),
    draining: () => false,
    dispatch: async (exchange) => {
      const { method, target, version, fields } = exchange.head;
      try {
        const body = await exchange.body();
        found.push({ method, target, version, fields: fields.raw, body: body.toString('latin1') });
        exchange.answer(204, []);
      } catch {
        exchange.answer(400, []);
      }
    },
  };
  await play(pieces, (socket) => new Connection(socket, ground));
  return found;
};

export const readByNode: Reader = async (pieces) => {
  const found: (ReadRequest & { whole: boolean })[] = [];
  // Whether there is a Host is not a question of reading: the router looks at it.
  const server = createServer({ maxHeaderSize: MAX_HEADER_SIZE, requireHostHeader: false }, (message, response) => {
    const { method = '', url: target = '', httpVersion: version, rawHeaders: fields } = message;
    const request = { method, target, version, fields, body: '', whole: false };
    found.push(request);
    message.setEncoding('latin1');
    message.on('data', (text: string) => {
      request.body += text;
    });
    message.on('end', () => {
      request.whole = true;
      response.writeHead(204).end();
    });
    message.on('error', () => {});
  });
  // Who has said goodbye is still answered, as by us.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('checkExpectation', (message, response) => server.emit('request', message, response));
  // What came before the error is a request all the same; its end is told a little later.
  server.on('clientError', (_error, socket) => void nextTurn().then(() => socket.destroy()));
  await play(pieces, (socket) => server.emit('connection', socket));
  await nextTurn();
  server.close();
  return found.filter(({ whole }) => whole).map(({ whole: _, ...request }) => request);
};
