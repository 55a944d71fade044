/** Reads what clients of the transaction manager send: URIs of participants in a list or in a Link field. */
import { Problem } from '../problems.ts';
import type { Registration } from './transactions.ts';

export const URI_LIST_TYPES = ['text/uri-list', 'uri-list'] as const;

/** The URIs of a list, one on a line; lines that begin with # are comments. */
export function readUriList(body: Buffer): string[] {
  const lines = body
    .toString('utf8')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (lines.length === 0) throw new Problem('invalid', 'the list has no URI in it');
  return lines;
}

/** Own URIs become paths; others must be http or https. */
export function toRegistration(
  uri: string,
  kind: string | null,
  localPath: (uri: string) => string | undefined,
): Registration {
  const path = localPath(uri);
  if (path !== undefined) return { uri: path, kind };
  const url = URL.canParse(uri) ? new URL(uri) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') {
    // In its normal form, so that a participant is not asked twice for being spelt in two ways.
    url.hash = '';
    return { uri: url.href, kind };
  }
  throw new Problem('invalid', `${uri.slice(0, 200)} is not an http or https URI`, {
    errors: [{ pointer: '/', detail: 'must be http or https URIs' }],
  });
}
