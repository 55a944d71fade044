/** What an error of PostgreSQL, or of the way to it, means to the caller. */
import { Problem } from '../../problems.ts';

const RETRY_AFTER = { headers: { 'Retry-After': '1' } };

/** SQLSTATEs that say the server cannot serve now, though the statement may be right. */
const UNAVAILABLE_STATES = new Set([
  '25006', // read-only, as during a failover
  '25P03', // idle in transaction for too long: the session is gone
  '3D000', // the database is not there (any more)
  '53200', // out of memory
  '53300', // too many connections
  '53400', // a configured limit
  '57014', // cancelled, by statement_timeout
  '58030', // I/O error
]);

export function codeOf(error: unknown): string {
  return textOf(error, 'code');
}

function textOf(error: unknown, name: 'code' | 'severity' | 'routine'): string {
  if (typeof error !== 'object' || error === null || !(name in error)) return '';
  const value = (error as Record<typeof name, unknown>)[name];
  return typeof value === 'string' ? value : '';
}

/** Serialisation failure or deadlock: the same job may succeed when run again, and nothing of it was stored. */
export function isRetryable(error: unknown): boolean {
  const code = codeOf(error);
  return code === '40001' || code === '40P01';
}

/**
 * Whether the connection is of no further use. What the server has not said itself comes from the way to it, except for
 * a value that could not be read (RangeError).
 */
export function losesConnection(error: unknown): boolean {
  const severity = textOf(error, 'severity');
  if (severity === '') return !(error instanceof RangeError);
  const code = codeOf(error);
  if (code.startsWith('08') || code.startsWith('57P')) return true;
  return severity === 'FATAL' || severity === 'PANIC' || isForgetful(error);
}

/** A prepared statement that the server no longer has, or whose tables have changed: it is prepared anew on the next one. */
function isForgetful(error: unknown): boolean {
  const code = codeOf(error);
  return code === '26000' || (code === '0A000' && textOf(error, 'routine') === 'RevalidateCachedQuery');
}

/** Errors of the store itself become problems with a name; everything else (constraints, wrong SQL) stays as it is. */
export function asProblem(error: unknown): unknown {
  if (error instanceof Problem) return error;
  const code = codeOf(error);
  if (code === '53100') return new Problem('storage-full', 'the disk of the database is full', {}, error);
  if (losesConnection(error) || UNAVAILABLE_STATES.has(code) || code.startsWith('28')) {
    return new Problem('store-unavailable', 'the database does not answer', RETRY_AFTER, error);
  }
  return error;
}

export function busy(detail: string): Problem {
  return new Problem('busy', detail, RETRY_AFTER);
}

export function connectionLost(cause?: unknown): Problem {
  return new Problem('store-unavailable', 'the connection to the database was lost', RETRY_AFTER, cause);
}

export function tooSlow(milliseconds: number): Problem {
  return new Problem('store-unavailable', `the database did not answer within ${milliseconds / 1000} s`, RETRY_AFTER);
}
