/** Makes a message of a request, or of a part of one: its content as it came, and the fields that travel with it. */
import { type Answer, location } from '../../http/answer.ts';
import { formatLinks, resolveTarget } from '../../http/links.ts';
import { readQuery } from '../../http/parameters.ts';
import type { Request } from '../../http/request.ts';
import { Problem } from '../../problems.ts';
import { fieldsToKeep, linksToKeep } from '../forwarded-fields.ts';
import { postingQuery } from '../message.ts';
import type { Messaging } from '../messaging.ts';
import type { DestinationKind } from '../settings.ts';
import type { Draft } from '../usecases/posting.ts';
import { messagePath } from '../views/links.ts';
import { nameOf, transactionOf } from './common.ts';

/** Posts what the request carries as one message; Location names it. */
export async function postOne(
  messaging: Messaging,
  kind: DestinationKind,
  request: Request,
  status: number,
): Promise<Answer> {
  const name = nameOf(request);
  const wishes = readQuery(request.query, postingQuery);
  const parcel = { kind, name, drafts: [draftOf(request)], wishes, transaction: transactionOf(request) };
  const [id = 0] = await messaging.posting.post(parcel);
  return { status, headers: [location(messagePath(kind, name, messaging.publicId({ id, name: null })))] };
}

export const draftOf = (request: Request): Draft => draftFrom(request.rawHeaders, request.body, request);

/** `rawFields` are names and values in turn. */
export function draftFrom(
  rawFields: readonly string[],
  body: Buffer,
  request: Pick<Request, 'localPath' | 'base' | 'path'>,
): Draft {
  let contentType: string | null = null;
  let connection: string | undefined;
  let link: string | undefined;
  for (let i = 0; i < rawFields.length; i += 2) {
    const name = rawFields[i] as string;
    const value = rawFields[i + 1] as string;
    // The lengths spare most names a comparison.
    if (name.length === 12 && name.toLowerCase() === 'content-type') {
      if (contentType !== null) throw new Problem('bad-header', 'Content-Type must be given once');
      contentType = value;
    } else if (name.length === 10 && name.toLowerCase() === 'connection') connection = value;
    else if (name.length === 4 && name.toLowerCase() === 'link')
      link = link === undefined ? value : `${link}, ${value}`;
  }
  const fields = fieldsToKeep(rawFields, connection);
  const links = linksToKeep(link);
  if (links.length > 0) {
    // Links to this service are kept as paths, so that a changed name or port breaks none.
    const address = request.base + request.path;
    const kept = links.map((link) => {
      const href = resolveTarget(link.href, address);
      return { ...link, href: request.localPath(href) ?? href };
    });
    fields.push(['Link', formatLinks(kept)]);
  }
  return { contentType, fields, body };
}
