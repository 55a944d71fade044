/** Cross-origin calls from browsers, off until origins are configured. */
import type { RequestHead } from './protocol/head.ts';

const EXPOSED = [
  'Link',
  'Link-Template',
  'Location',
  'Content-Location',
  'ETag',
  'Allow',
  'Accept-Post',
  'Retry-After',
  'Preference-Applied',
  'Message-Id',
  'Message-State',
  'Message-Posted',
  'Delivery-Count',
  'X-Request-Id',
].join(', ');

const NONE: readonly string[] = [];

/** The fields an answer to this request carries, and those of a preflight's answer. */
export function createCors(origins: readonly string[]) {
  const any = origins.includes('*');
  return ({ headers }: RequestHead, allow?: string): readonly string[] => {
    const origin = headers.origin;
    if (origins.length === 0) return NONE;
    const fields = ['Vary', 'Origin'];
    if (origin === undefined || !(any || origins.includes(origin))) return fields;
    fields.push('Access-Control-Allow-Origin', any ? '*' : origin, 'Access-Control-Expose-Headers', EXPOSED);
    if (allow !== undefined && headers['access-control-request-method'] !== undefined) {
      fields.push('Access-Control-Allow-Methods', allow, 'Access-Control-Max-Age', '600');
      const wanted = headers['access-control-request-headers'];
      if (wanted !== undefined) fields.push('Access-Control-Allow-Headers', wanted);
    }
    return fields;
  };
}
