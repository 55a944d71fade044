/**
 * How outbound connections are made: the name is resolved here and the very address that is then connected to is checked,
 * so a name that changes its mind between a check and a call gains nothing.
 */
import { lookup } from 'node:dns/promises';
import { isIP, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { OutboundError } from './error.ts';

/** Gives the addresses of a name; rejects when it has none. */
export type Resolver = (name: string) => Promise<readonly string[]>;

export const systemResolver: Resolver = async (name) => {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
};

const CONNECT_TIMEOUT = 10_000;
/** More addresses of one name than this are not tried. */
const MOST_ADDRESSES = 4;

/** The addresses of a host that may be called. Throws when there are none. */
export async function callableAddresses(
  host: string,
  resolve: Resolver,
  mayCall: (address: string) => boolean,
): Promise<readonly string[]> {
  const name = host.replace(/^\[|\]$/g, '');
  const addresses = isIP(name) === 0 ? await resolved(name, resolve) : [name];
  const callable = addresses.filter(mayCall);
  if (callable.length > 0) return callable.slice(0, MOST_ADDRESSES);
  const what = addresses.includes(name) ? name : `${name} (${addresses.join(', ')})`;
  throw new OutboundError('refused-address', `the address ${what} may not be called`);
}

async function resolved(name: string, resolve: Resolver): Promise<readonly string[]> {
  try {
    const addresses = await resolve(name);
    if (addresses.length > 0) return addresses;
  } catch (error) {
    throw new OutboundError('network', `the name ${name} cannot be resolved`, error);
  }
  throw new OutboundError('network', `the name ${name} has no address`);
}

export interface ConnectRules {
  readonly resolve: Resolver;
  readonly mayCall: (address: string) => boolean;
  /** Whether a host with its port is this service itself. */
  readonly isOwn: (host: string) => boolean;
}

export function createConnector(
  { resolve, mayCall, isOwn }: ConnectRules,
  tls: { readonly ca?: string } = {},
): buildConnector.connector {
  const connectTo = buildConnector({ timeout: CONNECT_TIMEOUT, ...tls });

  async function connect(options: buildConnector.Options): Promise<Socket> {
    let failure: unknown;
    const own = options.host !== undefined && isOwn(options.host);
    for (const address of await callableAddresses(options.hostname, resolve, own ? () => true : mayCall)) {
      try {
        return await new Promise<Socket>((succeed, fail) => {
          // `host` stays the name: TLS asks for and checks the certificate of the name, not of the address.
          connectTo({ ...options, hostname: address }, (error, socket) => (error ? fail(error) : succeed(socket)));
        });
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  return (options, callback) => {
    connect(options).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}
