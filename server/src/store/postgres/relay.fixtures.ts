/** Stands between a link and its server, and can do what a network does. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';

export interface Relay {
  /** The URL of the server, by way of the relay. */
  readonly url: string;
  /** Connections made so far. */
  readonly count: number;
  /** Cuts all connections as soon as the client has sent something that contains this text, which still arrives. */
  cutAfter(text: string): void;
  /** Answers of the server no longer arrive. */
  silence(): void;
  /** Answers of the server arrive together with the end of their connection. Those of later connections arrive as ever. */
  holdBack(): void;
  close(): Promise<void>;
}

export interface RelayOptions {
  /** Speaks TLS with its clients, as a server does that was asked for it. `of both`: and they have to show a certificate. */
  readonly tls?: boolean | 'of both';
  readonly host?: string;
}

export async function startRelay(serverUrl: string, options: RelayOptions = {}): Promise<Relay> {
  const { tls = false, host = '127.0.0.1' } = options;
  const target = new URL(serverUrl);
  const sockets = new Set<Duplex>();
  let count = 0;
  let last: string | undefined;
  let silent = false;
  let holding = false;

  const server = createServer((client) => {
    count++;
    if (tls) client.once('data', () => join(encrypted(client, tls === 'of both')));
    else join(client);
  });

  function join(client: Duplex): void {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk: Buffer) => {
      const isLast = last !== undefined && chunk.includes(last);
      upstream.write(chunk, () => {
        if (isLast) cut();
      });
    });
    const held: Buffer[] = [];
    upstream.on('data', (chunk: Buffer) => {
      if (holding) held.push(chunk);
      else if (!silent) client.write(chunk);
    });
    upstream.on('end', () => {
      holding = false;
      client.write(Buffer.concat(held));
    });
  }

  function cut(): void {
    for (const socket of sockets) socket.destroy();
    last = undefined;
  }

  server.listen(0, host);
  await once(server, 'listening');
  target.hostname = host;
  target.port = String((server.address() as AddressInfo).port);
  const url = target.href;
  target.href = serverUrl;
  return {
    url,
    get count() {
      return count;
    },
    cutAfter(text) {
      last = text;
    },
    silence() {
      silent = true;
    },
    holdBack() {
      holding = true;
    },
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}

function encrypted(client: Socket, requestCert: boolean): Duplex {
  client.write('S');
  const secureContext = createSecureContext({ key: KEY, cert: CERTIFICATE, ca: CERTIFICATE });
  return new TLSSocket(client, { isServer: true, secureContext, requestCert, rejectUnauthorized: requestCert });
}

/** For 127.0.0.1, signed by itself; a secret of nobody. */
export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwZ0rW8WMH/bb3M+c
J7Y7JALQcghLaAH0l9LdWYv3ObKhRANCAAQArbnPsZDi//vtdFHf9nUkz73Tkem7
q+8QUThVzr8KRXWqiWs/ymAsMNYNNqQs3bDDNQn67doFatgo65qzZwLA
-----END PRIVATE KEY-----`;
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUNN14sM6IRg9RPzYGFlFp2oDldG4wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExNTE0NTEyN1oYDzIxMjYxMDIy
MTQ1MTI3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQArbnPsZDi//vtdFHf9nUkz73Tkem7q+8QUThVzr8KRXWqiWs/ymAs
MNYNNqQs3bDDNQn67doFatgo65qzZwLAo28wbTAdBgNVHQ4EFgQUPOCQLIGgC++A
RjZ3ER0zm+IAFNwwHwYDVR0jBBgwFoAUPOCQLIGgC++ARjZ3ER0zm+IAFNwwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAJfuwtX4z8JqyyElS2z6G5CJMxhG/0qZOTDiop1DSWatAiEA
tjixgURDcq+TbV3mIEfDcTzu9jdorIKNkmzLBteQTVo=
-----END CERTIFICATE-----`;
