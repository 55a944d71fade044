/** How a connection is encrypted, and who is believed, as the query of the database's URL and the environment say. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { Problem } from '../../problems.ts';

/**
 * `none`: in the clear. `preferred`: encrypted if the server can. `unverified`: encrypted, whoever answers. `trusted`: the
 * certificate has to be of an authority that was named, for whatever host. `verified`: it has to be good for the host.
 */
export type Encryption = 'none' | 'preferred' | 'unverified' | 'trusted' | 'verified';

/** What files say that the URL names, as PEM. */
export interface Certificates {
  /** Whom to trust, in place of the authorities that Node trusts. */
  readonly ca?: string;
  /** What Waypost shows of itself, with its key. */
  readonly cert?: string;
  readonly key?: string;
}

const ENCRYPTION: ReadonlyMap<string, Encryption> = new Map([
  ['disable', 'none'],
  ['false', 'none'],
  ['prefer', 'preferred'],
  ['allow', 'unverified'],
  ['require', 'unverified'],
]);

type Query = Readonly<Record<string, string>>;

const SYSTEM = 'system';
const authorityOf = (query: Query, env: NodeJS.ProcessEnv): string | undefined =>
  query.sslrootcert || env.PGSSLROOTCERT || undefined;

export function encryptionOf(query: Query, env: NodeJS.ProcessEnv): Encryption {
  const authority = authorityOf(query, env);
  if (authority === SYSTEM) return 'verified';
  // Who names whom to trust does not want to speak in the clear.
  const unsaid = query.sslrootcert ? 'verify-full' : 'disable';
  const mode = query.sslmode || query.ssl || env.PGSSLMODE || env.PGSSL || unsaid;
  // Who names an authority wants to be sure that the server has its certificate from there. Without one, every host whose
  // certificate is good for some name would do, so the name has to be the right one.
  if (authority !== undefined && (mode === 'require' || mode === 'verify-ca')) return 'trusted';
  // A mode that is not known is taken for the safest.
  return ENCRYPTION.get(mode) ?? 'verified';
}

/** Only where they are of use: the environment may name files that are not there. */
export function certificatesOf(query: Query, env: NodeJS.ProcessEnv): Certificates {
  if (encryptionOf(query, env) === 'none') return {};
  const authority = authorityOf(query, env);
  const cert = query.sslcert || env.PGSSLCERT || undefined;
  const key = query.sslkey || env.PGSSLKEY || undefined;
  if ((cert === undefined) !== (key === undefined)) {
    throw new Problem('bad-request', 'the address of PostgreSQL needs both sslcert and sslkey, or neither');
  }
  return {
    ...(authority !== undefined && authority !== SYSTEM && { ca: contentOf('sslrootcert', authority) }),
    ...(cert !== undefined && { cert: contentOf('sslcert', cert) }),
    ...(key !== undefined && { key: contentOf('sslkey', key) }),
  };
}

function contentOf(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Problem(
      'bad-request',
      `the file that ${name} of PostgreSQL's address names cannot be read: ${(error as Error).message}`,
    );
  }
}

export function tlsOptions(encryption: Encryption, certificates: Certificates): ConnectionOptions {
  if (encryption !== 'trusted' && encryption !== 'verified') return { ...certificates, rejectUnauthorized: false };
  return {
    ...certificates,
    rejectUnauthorized: true,
    ...(encryption === 'trusted' && { checkServerIdentity: () => undefined }),
  };
}
