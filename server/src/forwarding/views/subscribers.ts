/** Subscribers as documents: Atom first, with a JSON twin. */
import type { Document, Field } from '../../http/document.ts';
import type { Link } from '../../http/links.ts';
import { timeOf } from '../../http/times.ts';
import { ATOM, type XmlNode } from '../../http/xml.ts';
import type { Destination } from '../../messaging/destination.ts';
import { destinationPath } from '../../messaging/views/links.ts';
import { paths } from '../../paths.ts';
import type { Attempt } from '../attempts.ts';
import { DISABLED, RETRYING, type Subscriber, stateNames } from '../subscriber.ts';

export const ATOM_FIRST = ['application/atom+xml', 'application/json'] as const;

type Absolute = (href: string) => string;

export const subscriberPath = ({ kind, name }: Destination, subscriber: string): string =>
  paths.subscriber[kind].href({ name, subscriber });

export const subscribersPath = ({ kind, name }: Destination): string => paths.subscribers[kind].href({ name });

export function enableHref({ kind, name }: Destination, subscriber: string, skip = false): string {
  return `${paths.enableSubscriber[kind].href({ name, subscriber })}${skip ? '?skip=true' : ''}`;
}

export interface SubscriberView {
  readonly subscriber: Subscriber;
  readonly destination: Destination;
  readonly publicId: string;
}

function linksOf({ subscriber, destination, publicId }: SubscriberView): Link[] {
  const { kind, name } = destination;
  const at = { name, subscriber: publicId };
  const post = (rel: string, href: string): Link => ({ rel, href, method: 'POST' });
  // Only a topic's subscriber stands still at a message that can be passed over.
  const canSkip = subscriber.state === DISABLED && kind === 'topic' && subscriber.failingAt !== null;
  return [
    { rel: 'self', href: subscriberPath(destination, publicId) },
    { rel: 'collection', href: subscribersPath(destination) },
    { rel: 'about', href: destinationPath(kind, name) },
    { rel: subscriber.rel, href: subscriber.href },
    ...(subscriber.state === DISABLED
      ? [post('enable', enableHref(destination, publicId))]
      : [post('disable', paths.disableSubscriber[kind].href(at))]),
    ...(canSkip ? [post('enable-skip', enableHref(destination, publicId, true))] : []),
    ...(subscriber.state === RETRYING ? [post('try-now', paths.trySubscriber[kind].href(at))] : []),
  ];
}

function fieldsOf({ subscriber, publicId }: SubscriberView): Record<string, Field> {
  const { rel, href, state, reason, secret, created, tries, nextTry, failingSince } = subscriber;
  return {
    id: publicId,
    rel,
    href,
    state: stateNames[state] ?? 'disabled',
    ...(reason === null ? {} : { reason }),
    signed: secret !== null,
    created: timeOf(created),
    ...(tries === 0 ? {} : { tries }),
    ...(nextTry === null ? {} : { 'next-try': timeOf(nextTry) }),
    ...(failingSince === null ? {} : { 'failing-since': timeOf(failingSince) }),
    counters: { forwarded: subscriber.forwarded, failed: subscriber.failed, dead: subscriber.dead },
  };
}

const attemptFields = (attempt: Attempt): Record<string, Field> => ({
  at: timeOf(attempt.at),
  milliseconds: attempt.milliseconds,
  ...(attempt.status === undefined ? {} : { status: attempt.status }),
  ...(attempt.error === undefined ? {} : { error: attempt.error }),
  ...(attempt.message === undefined ? {} : { message: attempt.message }),
  ...(attempt.messages === undefined ? {} : { messages: attempt.messages }),
});

/** An Atom element; what Atom has no word for stands in elements without a namespace. */
const atom = (name: string, children: readonly (XmlNode | string)[], attributes = {}): XmlNode => ({
  name,
  namespace: ATOM,
  attributes,
  children,
});

const own = (name: string, value: Field): XmlNode[] => {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((each) => own(name, each));
  if (typeof value !== 'object') return [{ name, namespace: '', children: [String(value)] }];
  const children = Object.entries(value).flatMap(([inner, each]) => own(inner, each));
  return [{ name, namespace: '', children }];
};

const atomLinks = (links: readonly Link[], absolute: Absolute): XmlNode[] =>
  links.map(({ rel, href, type, title }) => atom('link', [], { rel, href: absolute(href), type, title }));

/** Atom has these for every entry; the rest of the fields follows as our own elements. */
const IN_ATOM = new Set(['id', 'rel', 'href', 'created']);

function entry(view: SubscriberView, more: Record<string, Field>, absolute: Absolute): XmlNode {
  const { subscriber, destination, publicId } = view;
  const fields = Object.entries({ ...fieldsOf(view), ...more }).filter(([name]) => !IN_ATOM.has(name));
  return atom('entry', [
    atom('id', [absolute(subscriberPath(destination, publicId))]),
    atom('title', [`${subscriber.rel} to ${absolute(subscriber.href)}`]),
    atom('author', [atom('name', ['Waypost'])]),
    atom('published', [timeOf(subscriber.created)]),
    atom('updated', [timeOf(subscriber.created)]),
    ...atomLinks(linksOf(view), absolute),
    ...fields.flatMap(([name, value]) => own(name, value)),
  ]);
}

export function subscriberDocument(view: SubscriberView, attempts: readonly Attempt[]): Document {
  const { subscriber, publicId } = view;
  const more = { attempts: attempts.map(attemptFields) };
  const { state, epoch, forwarded, failed, dead, tries, nextTry } = subscriber;
  return {
    name: 'subscriber',
    fields: { ...fieldsOf(view), ...more },
    links: linksOf(view),
    types: ATOM_FIRST,
    xml: (absolute) => entry(view, { attempt: more.attempts }, absolute),
    version: [publicId, state, epoch, forwarded, failed, dead, tries, nextTry ?? 0, attempts.at(-1)?.at ?? 0].join('.'),
  };
}

export function subscriberList(
  destination: Destination,
  views: readonly SubscriberView[],
  links: readonly Link[],
): Document {
  const title = `Subscribers of the ${destination.kind} ${destination.name}`;
  return {
    name: 'subscribers',
    fields: { title },
    links,
    items: views.map((view) => ({ name: 'subscriber', fields: fieldsOf(view), links: linksOf(view) })),
    types: ATOM_FIRST,
    xml: (absolute) => {
      const updated = Math.max(destination.created, ...views.map(({ subscriber }) => subscriber.created));
      return atom('feed', [
        atom('id', [absolute(subscribersPath(destination))]),
        atom('title', [title]),
        atom('author', [atom('name', ['Waypost'])]),
        atom('updated', [timeOf(updated)]),
        ...atomLinks(links, absolute),
        ...views.map((view) => entry(view, {}, absolute)),
      ]);
    },
  };
}
