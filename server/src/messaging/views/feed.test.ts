import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAtomFeed, readAtomLinks } from '../../http/atom.ts';
import { ATOM, parseXml, type XmlElement } from '../../http/xml.ts';
import type { StoredMessage } from '../../store/store.ts';
import { makeDestination } from '../destination.ts';
import { deliveredFeed } from './feed.ts';
import type { MessageView } from './messages.ts';

const BASE = 'http://a.example';
const queue = makeDestination({ id: 1, kind: 'queue', name: 'q', settings: {}, version: 1, created: 0 }, false);

function viewOf(n: number, message: Partial<StoredMessage>): MessageView {
  const stored = {
    id: n,
    contentType: 'text/plain',
    body: Buffer.from('x'),
    headers: '[]',
    posted: 1000 * n,
    ...message,
  };
  const publicId = `m${n}`;
  const path = `/queues/q/messages/${publicId}`;
  return { message: stored as StoredMessage, destination: queue, publicId, path, state: 'leased', delivery: 'w' };
}

const next = { rel: 'next', href: '/behind' };

function feedOf(...messages: Partial<StoredMessage>[]): XmlElement {
  const views = messages.map((message, index) => viewOf(index + 1, message));
  const { content } = deliveredFeed(views, BASE, [next]);
  assert.equal(content?.type, 'application/atom+xml');
  return parseXml(content?.body ?? '');
}

const entriesOf = (feed: XmlElement): XmlElement[] => feed.children.filter(({ name }) => name === 'entry');
const textOf = ({ children }: XmlElement, wanted: string): string | undefined =>
  children.find(({ name, namespace }) => name === wanted && namespace === ATOM)?.text;
const fieldsOf = ({ children }: XmlElement): (string | undefined)[][] =>
  children
    .filter(({ namespace }) => namespace === 'urn:waypost')
    .map(({ attributes, text }) => [attributes.name, text]);

test('a feed says where it is from, and each entry what it is', () => {
  const feed = feedOf({ posted: 5000 }, { posted: 1000 });
  assert.equal(textOf(feed, 'id'), `${BASE}/queues/q`);
  assert.equal(textOf(feed, 'updated'), '1970-01-01T00:00:05.000Z');
  assert.deepEqual(readAtomLinks(feed), [{ rel: 'next', href: `${BASE}/behind` }]);
  const [, second] = entriesOf(feed);
  assert.ok(second);
  assert.equal(textOf(second, 'id'), `${BASE}/queues/q/messages/m2`);
  assert.equal(textOf(second, 'title'), 'm2');
  assert.equal(textOf(second, 'updated'), '1970-01-01T00:00:01.000Z');
  assert.deepEqual(readAtomLinks(second), [
    { rel: 'self', href: `${BASE}/queues/q/messages/m2` },
    { rel: 'generator', href: `${BASE}/queues/q` },
    { rel: 'acknowledgement', href: `${BASE}/queues/q/messages/m2/acknowledgement/w` },
  ]);
});

test('fields of the sender are text; those for browsers go for the whole answer', () => {
  const utf8 = Buffer.from('Zürich ✓').toString('latin1');
  const headers = JSON.stringify([
    ['X-Utf8', utf8],
    ['X-Latin', 'Z\xfcrich'],
    ['X-Plain', '<a> & "b"'],
  ]);
  const [entry] = entriesOf(feedOf({ headers }));
  assert.ok(entry);
  assert.deepEqual(fieldsOf(entry), [
    ['Message-Id', 'm1'],
    ['Message-State', 'leased'],
    ['Message-Posted', '1970-01-01T00:00:01.000Z'],
    ['X-Utf8', 'Zürich ✓'],
    ['X-Latin', 'Z\xfcrich'],
    ['X-Plain', '<a> & "b"'],
  ]);
  const { headers: answered } = deliveredFeed([viewOf(1, {})], BASE, []);
  assert.deepEqual(answered, [
    ['X-Content-Type-Options', 'nosniff'],
    ['Content-Security-Policy', 'sandbox'],
    ['Cache-Control', 'no-store'],
  ]);
});

test('base64 has a summary', () => {
  const entries = entriesOf(feedOf({}, { contentType: 'image/png' }, { contentType: null }));
  assert.deepEqual(
    entries.map((entry) => textOf(entry, 'summary')),
    [undefined, 'image/png, 1 byte', 'no type, 1 byte'],
  );
});

test('XML is inlined up to a limit of the whole feed, and the rest is not lost', () => {
  const body = Buffer.from(`<a>${'<b/>'.repeat(7500)}</a>`);
  const contentType = 'application/xml';
  const messages = Array.from({ length: 4 }, () => ({ contentType, body }));
  const feed = feedOf(...messages);
  assert.deepEqual(readAtomFeed(feed), messages);
  const isInline = (entry: XmlElement): boolean => entry.children.at(-1)?.children.length === 1;
  assert.deepEqual(entriesOf(feed).map(isInline), [true, true, false, false]);
});
