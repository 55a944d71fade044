/** What is looked at before a PostgreSQL server is used, and how a refusal is told in one line. */
import { Problem } from '../../problems.ts';
import type { Tx } from '../store.ts';

const OLDEST_SERVER = 14;

/** Gives what should be known though it is no reason to refuse the server. */
export async function checkServer(tx: Tx): Promise<string[]> {
  const row = await tx.get<{
    version: string;
    encoding: string;
    synchronous: string;
    fsync: string;
    isolation: string;
  }>(
    `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
            current_setting('synchronous_commit') AS synchronous, current_setting('fsync') AS fsync,
            current_setting('transaction_isolation') AS isolation`,
  );
  const version = Math.floor(Number(row?.version) / 10_000);
  if (version < OLDEST_SERVER) {
    throw new Problem('conflict', `PostgreSQL ${version} is too old; Waypost needs ${OLDEST_SERVER} or newer`);
  }
  if (row?.encoding !== 'UTF8') {
    throw new Problem('conflict', `the database has the encoding ${row?.encoding}; Waypost needs UTF8`);
  }
  // Sessions ask for it themselves, so that only the address can say otherwise.
  if (row.isolation !== 'read committed') {
    throw new Problem('conflict', `the address asks for transactions that are ${row.isolation}; leave that out`);
  }
  return [
    ...(row.synchronous === 'off'
      ? ['synchronous_commit is off: answered messages can be lost in a crash of the server']
      : []),
    ...(row.fsync === 'off' ? ['fsync is off: the database can be damaged by a crash of its machine'] : []),
  ];
}

/** Says which server could not be used and why, without the password. */
export function unreachable(url: string, problem: Problem): Problem {
  const { cause } = problem;
  const reason = cause instanceof Error ? cause.message || String((cause as { code?: unknown }).code) : problem.message;
  return new Problem(
    'store-unavailable',
    `cannot use PostgreSQL at ${placeOf(url)}: ${reason}`,
    problem.extras,
    problem,
  );
}

/** Host, port and database. Not read as a URL: a list of hosts is none. */
function placeOf(url: string): string {
  return url.replace(/^[a-z]+:\/\/(?:[^/]*@)?/i, '').replace(/\?.*$/, '');
}
