import { connect } from 'node:net';
import { connect as connectSecurely } from 'node:tls';

const PATIENCE = 10_000;

/**
 * Sends bytes as they are over one connection (a text is Latin-1) and gives back, as Latin-1, what comes until the
 * server closes or `enough` is satisfied. For requests that no client would write.
 */
export function rawExchange(base: string, sent: string, enough: (received: string) => boolean): Promise<string> {
  const { hostname, port, protocol } = new URL(base);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const socket =
      protocol === 'https:'
        ? connectSecurely({ host, port: Number(port || 443), servername: host })
        : connect({ host, port: Number(port || 80) });
    let received = '';
    const finish = (error?: Error) => {
      clearTimeout(timer);
      socket.destroy();
      // A server may reset the connection after it has answered.
      if (error !== undefined && received === '') reject(error);
      else resolve(received);
    };
    const timer = setTimeout(() => finish(new Error('no answer')), PATIENCE);
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      if (enough(received)) finish();
    });
    socket.once('error', finish);
    socket.once('close', () => finish());
    socket.write(sent, 'latin1');
  });
}

/** The statuses of the answers in what was received, one after the other. */
export function statusesIn(received: string): number[] {
  return [...received.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map((match) => Number(match[1]));
}
