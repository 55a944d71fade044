/** Consumers as documents, and the addresses of the area. */
import { type Document, XML_FIRST } from '../../http/document.ts';
import type { Link } from '../../http/links.ts';
import { timeOf } from '../../http/times.ts';
import { paths } from '../../paths.ts';
import { type Consumer, stateOf, type Termination } from '../consumer.ts';

export const addresses = {
  consumer: (uuid: string): string => paths.consumer.href({ uuid }),
  terminateConsumer: (uuid: string): string => paths.terminateConsumer.href({ uuid }),
  reinstateConsumer: (uuid: string): string => paths.reinstateConsumer.href({ uuid }),
  entitlement: (uuid: string): string => paths.entitlement.href({ uuid }),
  terminateEntitlement: (uuid: string): string => paths.terminateEntitlement.href({ uuid }),
  reinstateEntitlement: (uuid: string): string => paths.reinstateEntitlement.href({ uuid }),
};

export const shownTermination = ({ at, by, reason }: Termination) => ({ at: timeOf(at), by, reason });

export function consumerLinks({ id, terminated }: Pick<Consumer, 'id' | 'terminated'>): Link[] {
  return [
    { rel: 'self', href: addresses.consumer(id) },
    { rel: 'entitlements', href: paths.consumerEntitlements.href({ uuid: id }) },
    terminated === undefined
      ? { rel: 'terminate', href: addresses.terminateConsumer(id), method: 'POST' }
      : { rel: 'reinstate', href: addresses.reinstateConsumer(id), method: 'POST' },
  ];
}

export function consumerDocument(consumer: Consumer): Document {
  const { id, name, externalKey, metadata, entitlements, created, updated, terminated, version } = consumer;
  return {
    name: 'consumer',
    fields: {
      id,
      name,
      state: stateOf(consumer),
      'external-key': externalKey ?? undefined,
      metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
      'entitlement-count': entitlements,
      created: timeOf(created),
      updated: timeOf(updated),
      terminated: terminated && shownTermination(terminated),
    },
    attributes: ['id'],
    links: consumerLinks(consumer),
    types: XML_FIRST,
    version,
  };
}

export function consumerList(consumers: readonly Consumer[], links: readonly Link[]): Document {
  return {
    name: 'consumers',
    fields: {},
    links: [
      ...links,
      { rel: 'terminate', href: paths.terminateConsumers.href({}), method: 'POST' },
      { rel: 'events', href: paths.destination.topic.href({ name: 'consumer-events' }) },
    ],
    items: consumers.map(consumerDocument),
    types: XML_FIRST,
  };
}
