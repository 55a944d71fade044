/** A failure as RFC 9457 says: application/problem+json, or +xml for a client that asked for XML. */

import { paths } from '../paths.ts';
import type { Problem } from '../problems.ts';
import { formatLinks, shownLink } from './links.ts';
import { chooseMediaType } from './negotiation.ts';
import { renderXml, type XmlNode } from './xml.ts';

const NAMESPACE = 'urn:ietf:rfc:7807';
const OFFERS = ['application/problem+json', 'application/problem+xml'];

export function problemAnswer(
  problem: Problem,
  requestId: string,
  base: string,
  accept: string | undefined,
): { headers: string[]; body: Buffer } {
  const absolute = (href: string): string => (href.startsWith('/') ? base + href : href);
  const { errors, headers: fields = {}, links = [], members } = problem.extras;
  const absoluteLinks = links.map((link) => shownLink(link, absolute));
  const document: Record<string, unknown> = {
    type: base + paths.problem.href({ code: problem.code }),
    title: problem.title,
    status: problem.status,
    detail: problem.message,
    instance: `urn:uuid:${requestId}`,
    ...(errors === undefined ? {} : { errors }),
    ...members,
    ...(links.length === 0 ? {} : { links: absoluteLinks }),
  };
  // Who takes nothing but some XML of ours has asked for XML.
  const type = chooseMediaType(accept, OFFERS) ?? (accept?.includes('+xml') ? OFFERS[1] : OFFERS[0]);
  const body =
    type === OFFERS[1] ? `${renderXml(toXml('problem', document))}\n` : `${JSON.stringify(document, null, 2)}\n`;
  const headers = ['Content-Type', type as string, 'Vary', 'Accept', 'Cache-Control', 'no-store'];
  for (const [name, value] of Object.entries(fields)) headers.push(name, value);
  if (links.length > 0) headers.push('Link', formatLinks(absoluteLinks));
  return { headers, body: Buffer.from(body) };
}

function toXml(name: string, value: unknown): XmlNode {
  const node = { name, namespace: NAMESPACE };
  if (Array.isArray(value)) return { ...node, children: value.map((each) => toXml('i', each)) };
  if (typeof value === 'object' && value !== null) {
    return { ...node, children: Object.entries(value).map(([inner, each]) => toXml(inner, each)) };
  }
  return { ...node, children: [String(value)] };
}
