/**
 * Which header fields of a posting request become part of the message and are handed on to its receivers (A10).
 * Everything passes, except what this one table names. docs/headers.md shows the same table.
 */
import { readLinkField } from '../http/links.ts';

/** Names end in `*` where they stand for all that begin so. Compared in lower case. */
export const withheldFields: Readonly<Record<string, readonly string[]>> = {
  'about the connection or one hop': [
    'connection',
    'keep-alive',
    'proxy-*',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'via',
    'max-forwards',
    'http2-settings',
  ],
  'about the request': [
    'host',
    'accept*',
    'content-length',
    'expect',
    'prefer',
    'if-*',
    'range',
    'cache-control',
    'pragma',
    'access-control-request-*',
    'sec-*',
    'upgrade-insecure-requests',
    'dnt',
    'x-http-method-override',
  ],
  'about the caller': [
    'authorization',
    'cookie',
    'from',
    'user-agent',
    'referer',
    'origin',
    'forwarded',
    'x-forwarded-*',
    'x-real-ip',
  ],
  'used by our own answers': [
    'content-type',
    'content-location',
    'content-range',
    'location',
    'link',
    'link-template',
    'date',
    'server',
    'age',
    'allow',
    'etag',
    'last-modified',
    'expires',
    'vary',
    'retry-after',
    'preference-applied',
    'x-request-id',
    'message-*',
    'delivery-count',
    'x-content-type-options',
    'content-security-policy*',
  ],
  'instructions to a browser that a sender must not give': [
    'set-cookie*',
    'www-authenticate',
    'access-control-*',
    'strict-transport-security',
    'clear-site-data',
    'refresh',
    'public-key-pins*',
    'x-frame-options',
    'x-xss-protection',
    'cross-origin-*',
    'permissions-policy',
    'referrer-policy',
    'report-to',
    'reporting-endpoints',
    'nel',
    'alt-svc',
    'service-worker-allowed',
    'sourcemap',
    'speculation-rules',
  ],
};

const patterns = Object.values(withheldFields).flat();
const exact = new Set(patterns.filter((name) => !name.endsWith('*')));
const prefixes = patterns.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));

/** Names as clients spell them, so that the usual ones are decided by one look. Bounded: clients choose names. */
const decided = new Map<string, boolean>();
const MAX_DECIDED = 2000;

function isWithheld(spelled: string): boolean {
  const known = decided.get(spelled);
  if (known !== undefined) return known;
  const name = spelled.toLowerCase();
  const withheld = exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
  if (decided.size < MAX_DECIDED) decided.set(spelled, withheld);
  return withheld;
}

/** Relations that travel with a message: where to reply to, and relations that are URIs of their own. */
const replyRelations = new Set(['reply-to', 'reply-to-once', 'reply-to-batch', 'reply-to-batch-once']);
const travels = (rel: string): boolean => replyRelations.has(rel) || rel.includes(':');

export type StoredField = readonly [name: string, value: string];

/** The fields to keep, from alternating names and values. `link` fields are kept as the links that travel. */
export function fieldsToKeep(rawHeaders: readonly string[], connection: string | undefined): StoredField[] {
  const hop =
    connection === undefined
      ? undefined
      : new Set(
          connection
            .toLowerCase()
            .split(',')
            .map((name) => name.trim()),
        );
  const kept: StoredField[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (isWithheld(name) || hop?.has(name.toLowerCase())) continue;
    kept.push([name, rawHeaders[i + 1] as string]);
  }
  return kept;
}

/** The links of the request's Link field that travel with the message. */
export function linksToKeep(field: string | undefined): { rel: string; href: string; type?: string; title?: string }[] {
  if (field === undefined) return [];
  return readLinkField(field).flatMap(({ href, rels, type, title }) =>
    rels.filter(travels).map((rel) => ({
      rel,
      href,
      ...(type === undefined ? {} : { type }),
      ...(title === undefined ? {} : { title }),
    })),
  );
}
