/** If-Match and If-None-Match on documents with a version. The representation's part of an ETag does not matter. */
import { Problem } from '../problems.ts';
import type { Request } from './request.ts';

const versionOf = (tag: string): string => tag.trim().replace(/^"(.*)-[^-]*"$/, '$1');

/** Throws 412 when If-Match names another version than the present one (undefined: there is nothing yet). */
export function checkIfMatch(request: Request, version: string | number | undefined): void {
  const wanted = request.headers['if-match'];
  if (wanted !== undefined) {
    const met =
      wanted.trim() === '*'
        ? version !== undefined
        : wanted.split(',').some((tag) => !tag.trim().startsWith('W/') && versionOf(tag) === String(version));
    if (!met) throw new Problem('precondition-failed', 'If-Match does not name the present version');
  }
  if (request.headers['if-none-match']?.trim() === '*' && version !== undefined) {
    throw new Problem(
      'precondition-failed',
      'If-None-Match: * asks for something that does not exist yet, and it does',
    );
  }
}

/** Whether a GET can be answered 304. */
export function isNotModified(request: { headers: { 'if-none-match'?: string | undefined } }, etag: string): boolean {
  const given = request.headers['if-none-match'];
  if (given === undefined) return false;
  return given.trim() === '*' || given.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
