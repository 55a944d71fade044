/** Where a database is and how to speak with it, read from its URL and, for what that leaves out, from the environment. */
import { isIPv6 } from 'node:net';
import { userInfo } from 'node:os';
import { Problem } from '../../problems.ts';
import { type Certificates, certificatesOf, type Encryption, encryptionOf } from './encryption.ts';

export interface Address {
  /** Tried in this order. A host that begins with a slash is the folder of a Unix socket. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly encryption: Encryption;
  readonly certificates: Certificates;
  /** TLS from the first byte, without asking for it. */
  readonly direct: boolean;
  /** A server that takes no writes is passed over. */
  readonly writable: boolean;
  /** Settings of the session. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Further options of the session, as the server's command line has them. */
  readonly options: string;
}

const DEFAULT_PORT = 5432;

/** Parts of the query that are no settings of the session. */
const NO_SETTINGS = new Set([
  'host',
  'port',
  'user',
  'password',
  'dbname',
  'options',
  'ssl',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'target_session_attrs',
  'connect_timeout',
]);

/** What libpq has and Waypost has not: to leave one out unsaid could leave out somebody's safety. */
const NOT_HAD =
  /^(?:channel_binding|fallback_application_name|gss.*|hostaddr|keepalives.*|krbsrvname|load_balance_hosts|(?:max|min)_protocol_version|passfile|replication|require_?auth|requirepeer|service|servicefile|ssl.*|ssl_m(?:ax|in)_protocol_version|tcp_user_timeout)$/;

export function addressOf(url: string, env: NodeJS.ProcessEnv = process.env): Address {
  const { parts, hosts } = split(url);
  const query = Object.fromEntries(parts.searchParams);
  const settings = Object.entries(query).filter(([name]) => !NO_SETTINGS.has(name));
  for (const [name] of settings) if (NOT_HAD.test(name)) throw unsupported(name);
  const port = Number(parts.port || query.port || env.PGPORT || DEFAULT_PORT);
  const user = decoded(parts.username) || query.user || env.PGUSERNAME || env.PGUSER || userInfo().username;
  const session = query.target_session_attrs ?? env.PGTARGETSESSIONATTRS;
  return {
    hosts: (query.host || hosts || env.PGHOST || 'localhost').split(',').map((entry) => hostOf(entry, port)),
    user,
    password: decoded(parts.password) || query.password || env.PGPASSWORD || '',
    database: decoded(parts.pathname.slice(1)) || query.dbname || env.PGDATABASE || user,
    encryption: encryptionOf(query, env),
    certificates: certificatesOf(query, env),
    direct: (query.sslnegotiation ?? env.PGSSLNEGOTIATION) === 'direct',
    writable: session === 'read-write' || session === 'primary',
    parameters: Object.fromEntries(settings),
    options: query.options ?? '',
  };
}

const unsupported = (name: string): Problem =>
  new Problem(
    'bad-request',
    `the address of PostgreSQL has ${name}, which Waypost does not know; of libpq's names it knows ${[...NO_SETTINGS].join(', ')}. Take it out, if the connection is good enough without it`,
  );

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Problem(
      'bad-request',
      'the address of PostgreSQL has a % that begins no character; write %25 for the sign itself',
    );
  }
}

/** A list of hosts with ports makes no URL, so that the hosts are read apart from the rest. */
function split(url: string): { parts: URL; hosts: string } {
  const [, before = '', hosts = '', after = ''] = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is.exec(url) ?? [];
  const first = hosts.split(',')[0];
  const parts = URL.parse(`${before}${hosts.includes(',') ? first : hosts}${after}`);
  if (parts === null) throw new Problem('bad-request', 'the address of PostgreSQL cannot be read as a URL');
  return { parts, hosts };
}

/** `name`, `name:port`, `::1`, `[::1]`, `[::1]:port` or `/folder`. */
function hostOf(entry: string, port: number): { host: string; port: number } {
  if (entry.startsWith('/') || isIPv6(entry)) return { host: entry, port };
  const [, host = '', own] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [];
  return { host: decoded(host.replace(/^\[|\]$/g, '')), port: own === undefined ? port : Number(own) };
}

/** Settings and options as the server reads them at the start of a session. */
export function sessionOptions(parameters: Readonly<Record<string, string>>, options: string): string {
  const settings = Object.entries(parameters).map(([name, value]) => `-c ${name}=${value.replace(/[\\\s]/g, '\\$&')}`);
  return [...settings, options].join(' ').trim();
}
