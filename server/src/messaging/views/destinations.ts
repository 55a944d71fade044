/** Destinations as documents: state in, fields and links out. */
import type { Document } from '../../http/document.ts';
import type { Link } from '../../http/links.ts';
import { timeOf } from '../../http/times.ts';
import { paths } from '../../paths.ts';
import { COUNT_LIMIT, type Counts, type Destination } from '../destination.ts';
import type { DestinationKind } from '../settings.ts';
import { destinationLinks, destinationPath, type LinkContext } from './links.ts';

/** Templates for clients that choose message ids themselves. */
export function destinationTemplates({ kind, name }: Destination): { rel: string; href: string }[] {
  if (kind === 'topic') return [];
  return [{ rel: 'message', href: paths.message.queue.template.replace('{name}', name) }];
}

export function destinationDocument(
  destination: Destination,
  counts: Counts | { retained: number },
  context: LinkContext,
): Document {
  const { kind, name, effective, version, created } = destination;
  const shown: Record<string, number> = {};
  let capped = false;
  for (const [state, count] of Object.entries(counts) as [string, number][]) {
    shown[state] = Math.min(count, COUNT_LIMIT);
    capped ||= count > COUNT_LIMIT;
  }
  const { lease, ...topicSettings } = effective;
  return {
    name: kind,
    fields: {
      name,
      ...(kind === 'queue' ? effective : topicSettings),
      created: timeOf(created),
      counts: capped ? { ...shown, 'at-least': true } : shown,
    },
    attributes: ['name'],
    links: destinationLinks(destination, context),
    version: `${destination.id}.${version}`,
  };
}

export function destinationItem({ kind, name, created }: Destination): Document {
  return {
    name: kind,
    fields: { name, created: timeOf(created) },
    attributes: ['name'],
    links: [{ rel: 'self', href: destinationPath(kind, name) }],
  };
}

export function destinationList(
  kind: DestinationKind,
  items: readonly Destination[],
  links: readonly Link[],
): Document {
  return { name: `${kind}s`, fields: {}, links, items: items.map(destinationItem) };
}

export function templateOf(kind: DestinationKind): { rel: string; href: string } {
  return { rel: kind, href: paths.destination[kind].template };
}
