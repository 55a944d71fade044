/** Makes a message of a request: its content as it came, and the fields that travel with it. */
import { formatLinks } from '../../http/links.ts';
import type { Request } from '../../http/request.ts';
import { Problem } from '../../problems.ts';
import { fieldsToKeep, linksToKeep } from '../forwarded-fields.ts';
import type { Draft } from '../usecases/posting.ts';

export function draftOf(request: Request): Draft {
  const { headers, rawHeaders, body } = request;
  const fields = fieldsToKeep(rawHeaders, headers.connection);
  const links = linksToKeep(typeof headers.link === 'string' ? headers.link : undefined);
  if (links.length > 0) {
    // Links to this service are kept as paths, so that a changed name or port breaks none.
    const kept = links.map((link) => ({ ...link, href: request.localPath(link.href) ?? link.href }));
    fields.push(['Link', formatLinks(kept)]);
  }
  return { contentType: contentTypeOf(rawHeaders), fields, body };
}

/** As it was sent: byte for byte, and null when there was none. */
function contentTypeOf(rawHeaders: readonly string[]): string | null {
  let found: string | null = null;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length !== 12 || name.toLowerCase() !== 'content-type') continue;
    if (found !== null) throw new Problem('bad-header', 'Content-Type must be given once');
    found = rawHeaders[i + 1] as string;
  }
  return found;
}
