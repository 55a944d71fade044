/** Entitlements as documents. */
import { type Document, XML_FIRST } from '../../http/document.ts';
import type { Link } from '../../http/links.ts';
import { timeOf } from '../../http/times.ts';
import { paths } from '../../paths.ts';
import { type Entitlement, stateAt, terminationOf, versionOf } from '../entitlement.ts';
import { addresses, shownTermination } from './consumers.ts';

/** While the consumer is terminated neither operation is possible: the way back is the consumer's own. */
export function entitlementLinks({ id, consumer, terminated }: Entitlement): Link[] {
  const links: Link[] = [
    { rel: 'self', href: addresses.entitlement(id) },
    { rel: 'consumer', href: addresses.consumer(consumer.id) },
  ];
  if (consumer.terminated !== undefined) return links;
  links.push(
    terminated === undefined
      ? { rel: 'terminate', href: addresses.terminateEntitlement(id), method: 'POST' }
      : { rel: 'reinstate', href: addresses.reinstateEntitlement(id), method: 'POST' },
  );
  return links;
}

/** As it is now, or as it is at another moment: then the state is that one's, and the links are those of now. */
export function entitlementDocument(entitlement: Entitlement, now: number, at: number = now): Document {
  const { id, consumer, product, quantity, start, end, created, updated } = entitlement;
  const state = stateAt(entitlement, now, at);
  const termination = state === 'terminated' ? terminationOf(entitlement) : undefined;
  return {
    name: 'entitlement',
    fields: {
      id,
      consumer: consumer.id,
      product: { id: product.id, name: product.name },
      quantity,
      start: timeOf(start),
      end: end === null ? undefined : timeOf(end),
      state,
      created: timeOf(created),
      updated: timeOf(updated),
      terminated: termination && { ...shownTermination(termination), cause: termination.cause },
    },
    attributes: ['id'],
    links: entitlementLinks(entitlement),
    types: XML_FIRST,
    version: versionOf(entitlement, now),
  };
}

export function entitlementList(
  entitlements: readonly Entitlement[],
  links: readonly Link[],
  now: number,
  at: number | undefined,
): Document {
  return {
    name: 'entitlements',
    fields: {},
    links: [...links, { rel: 'terminate', href: paths.terminateEntitlements.href({}), method: 'POST' }],
    items: entitlements.map((entitlement) => entitlementDocument(entitlement, now, at)),
    types: XML_FIRST,
  };
}
