/** Makes a connection to PostgreSQL. */
import { Socket } from 'node:net';
import pg from 'pg';
import { type Address, sessionOptions } from './address.ts';
import { type Encryption, tlsOptions } from './encryption.ts';
import { types } from './types.ts';

export interface Connection {
  readonly client: pg.Client;
  /** What the client speaks through, so that it can be cut whatever the client is waiting for. */
  readonly socket: Socket;
}

export interface DialOptions {
  readonly address: Address;
  readonly parameters: Readonly<Record<string, string>>;
  /** Called for a connection that was made and then lost. */
  readonly onLost: (lost: pg.Client, error: Error) => void;
  readonly onNotify?: ((payload: string) => void) | undefined;
  /** Gives up, with its reason. */
  readonly signal: AbortSignal;
  /** How long one of several hosts may take before the next is tried, in milliseconds. */
  readonly patience: number;
}

const KEEP_ALIVE = 60_000;
const NO_TLS = 'The server does not support SSL connections';

/** Connects to the first of the hosts that takes the connection. */
export async function dial(options: DialOptions): Promise<Connection> {
  const { address, signal, patience } = options;
  let failure: unknown;
  for (const host of address.hosts) {
    // One host may have all the time there is.
    const patient = address.hosts.length === 1 ? signal : AbortSignal.any([signal, AbortSignal.timeout(patience)]);
    const atOneHost = { ...options, signal: patient };
    try {
      return await connect(atOneHost, host, address.encryption);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      failure = error;
      if (address.encryption !== 'preferred' || !isWithoutTls(error)) continue;
    }
    try {
      return await connect(atOneHost, host, 'none');
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      failure = error;
    }
  }
  throw failure;
}

const isWithoutTls = (error: unknown): boolean => error instanceof Error && error.message === NO_TLS;

async function connect(
  { address, parameters, onLost, onNotify, signal }: DialOptions,
  { host, port }: Address['hosts'][number],
  encryption: Encryption,
): Promise<Connection> {
  const socket = new Socket();
  const { application_name = 'waypost', ...settings } = { ...parameters, ...address.parameters };
  const client = new pg.Client({
    host,
    port,
    user: address.user,
    database: address.database,
    // A function: the library looks for the password in a file of the user's when it is given none.
    password: () => address.password,
    ssl: encryption === 'none' ? false : tlsOptions(encryption, address.certificates),
    sslnegotiation: encryption !== 'none' && address.direct ? 'direct' : 'postgres',
    application_name,
    options: sessionOptions(settings, address.options),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE,
    types,
    pipeline: true,
    stream: () => socket,
  });
  client.on('error', (error) => onLost(client, error));
  if (onNotify !== undefined) client.on('notification', ({ payload }) => onNotify(payload ?? ''));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const giveUp = (): void => {
    reject(signal.reason);
    socket.destroy();
  };
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp);
  try {
    client.connect((error: Error | null) => (error ? reject(error) : resolve()));
    await promise;
    if (address.writable) await mustTakeWrites(client);
    return { client, socket };
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

async function mustTakeWrites(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`SELECT current_setting('transaction_read_only') AS "readOnly"`);
  if (rows[0]?.readOnly !== 'off') throw new Error('the server takes no writes');
}
