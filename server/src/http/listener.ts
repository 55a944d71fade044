/** The listening socket and its connections, from the first to an orderly end. */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { newRequestId } from '../ids.ts';
import type { Problem } from '../problems.ts';
import { problemAnswer } from './problem-answer.ts';
import { Connection, type ConnectionGround } from './protocol/connection.ts';
import { authorityOf } from './protocol/exchange.ts';

export interface Listener {
  readonly port: number;
  /** The addresses it listens on, as URLs. */
  readonly addresses: readonly string[];
  /** Stops accepting, lets what is in flight finish, then cuts off what is left after the time given. */
  close(milliseconds: number): Promise<void>;
}

export interface ListenerOptions extends Omit<ConnectionGround, 'refusal' | 'draining'> {
  readonly host: string;
  readonly port: number;
  /** The address under which clients see the service, where one is configured. */
  readonly base: string | undefined;
}

/** How often connections are looked at that may have been waited for too long. */
const SWEEP_MILLISECONDS = 500;

export async function listen({ host, port, base, ...shared }: ListenerOptions): Promise<Listener> {
  let draining = false;
  const ground: ConnectionGround = {
    ...shared,
    refusal: (problem, socket) => refusalOf(problem, socket, base),
    draining: () => draining,
  };
  const connections = new Set<Connection>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const connection = new Connection(socket, ground);
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: 4096 }, resolve);
  });
  // A connection that could not be accepted, for want of memory or files. Those that are there go on, and so do we.
  server.on('error', () => {});
  const sweep = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.checkPatience(now);
  }, SWEEP_MILLISECONDS);
  sweep.unref();

  const address = server.address() as AddressInfo;
  const hosts = ['0.0.0.0', '::'].includes(address.address) ? ['127.0.0.1'] : [address.address, host];
  return {
    port: address.port,
    addresses: hosts.map((name) => `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`),
    async close(milliseconds) {
      draining = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of connections) connection.leaveIfIdle();
      const cut = setTimeout(() => {
        for (const { socket } of connections) socket.destroy();
      }, milliseconds);
      await closed;
      clearTimeout(cut);
      clearInterval(sweep);
    },
  };
}

/** For what never became a request: nobody knows for which address it was meant. */
function refusalOf(problem: Problem, socket: Socket, base = `http://${authorityOf(socket)}`) {
  const id = newRequestId();
  const { headers, body } = problemAnswer(problem, id, base, undefined);
  return { fields: ['X-Request-Id', id, ...headers], body };
}
