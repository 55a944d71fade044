/**
 * If-Match and If-None-Match. Of a document they compare the version: what else its ETag holds, the representation and a
 * fingerprint of what no version tells, does not matter to a change. An ETag without a dash is compared as a whole.
 */
import { Problem } from '../problems.ts';

interface Conditional {
  readonly headers: { readonly 'if-match'?: string | undefined; readonly 'if-none-match'?: string | undefined };
}

const versionOf = (tag: string): string => tag.trim().replace(/^"(.*)-[^-]*"$/, '$1');
const isAny = (given: string): boolean => given.trim() === '*';
const tagsOf = (given: string): string[] => given.split(',').map((tag) => tag.trim());
const withoutWeakness = (tag: string): string => tag.replace(/^W\//, '');

/** Throws 412 when If-Match names another version than the present one (undefined: there is nothing yet). */
export function checkIfMatch({ headers }: Conditional, version: string | number | undefined): void {
  const wanted = headers['if-match'];
  if (wanted === undefined) return;
  const isMet = isAny(wanted)
    ? version !== undefined
    : tagsOf(wanted).some((tag) => !tag.startsWith('W/') && versionOf(tag) === String(version));
  if (!isMet) throw new Problem('precondition-failed', 'If-Match does not name the present version');
}

/** The same before a change, where If-None-Match counts, too: it names what the client does not want to change. */
export function checkConditions(request: Conditional, version: string | number | undefined): void {
  checkIfMatch(request, version);
  const unwanted = request.headers['if-none-match'];
  if (unwanted === undefined || version === undefined) return;
  if (isAny(unwanted)) {
    throw new Problem(
      'precondition-failed',
      'If-None-Match: * asks for something that does not exist yet, and it does',
    );
  }
  if (tagsOf(unwanted).some((tag) => versionOf(withoutWeakness(tag)) === String(version))) {
    throw new Problem('precondition-failed', 'If-None-Match names the present version');
  }
}

/** Throws 412 when If-Match of a GET names another version than the one that would be answered. */
export const checkShown = (request: Conditional, etag: string): void => checkIfMatch(request, versionOf(etag));

/** Whether a GET can be answered 304. */
export function isNotModified({ headers }: Conditional, etag: string): boolean {
  const given = headers['if-none-match'];
  if (given === undefined) return false;
  return isAny(given) || tagsOf(given).some((tag) => withoutWeakness(tag) === etag);
}
