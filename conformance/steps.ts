import assert from 'node:assert/strict';
import type { Address, Answer, Client, Options } from './client.ts';
import { mediaType } from './expect.ts';
import { type Link, parseLinks } from './links.ts';
import { type Part, parseMultipart, writeMultipart } from './multipart.ts';
import type { Destination, Queue, World } from './world.ts';

/** Steps of link-driven messaging that many cases share. Each follows links; none builds an address. */

/** A message handed out on lease, and where to settle it. */
export type Delivery = { answer: Answer; text: string; message: Address; acknowledgement: Address; count: number };

const TEXT = { 'content-type': 'text/plain' };

/** Where a destination's link of this relation leads, on any node. */
export async function follow({ client }: World, { address }: { address: Address }, rel: string): Promise<Address> {
  return client.store((await client.head(address)).expect(200).link(rel));
}

/** Follows a link of an answer, on any node. */
export const linkOf = (client: Client, answer: Answer, rel: string): Address => client.store(answer.link(rel));

/** A fresh create-next link, from a post-message-once or post-batch-once link. */
export async function createNext(client: Client, once: Address): Promise<Address> {
  return linkOf(client, (await client.post(once)).expect(200), 'create-next');
}

/** A fresh create-next link of a destination. */
export async function freshLink(world: World, to: Destination, rel = 'post-message-once'): Promise<Address> {
  return createNext(world.client, await follow(world, to, rel));
}

/** Posts a text. */
export const sendText = (client: Client, address: Address, body: string, options: Options = {}): Promise<Answer> =>
  client.post(address, { ...options, headers: { ...TEXT, ...options.headers }, body });

/** A batch of texts as multipart/mixed. */
export function textBatch(texts: readonly string[]): Options {
  const { contentType, body } = writeMultipart(texts.map((text) => ({ headers: TEXT, body: text })));
  return { headers: { 'content-type': contentType }, body };
}

/** The addresses of a text/uri-list (RFC 2483), stored. */
export function uriList(client: Client, answer: Answer): Address[] {
  assert.equal(mediaType(answer), 'text/uri-list', answer.asked);
  assert.match(answer.text(), /^(?:\S+\r\n)+$/, `${answer.asked}: each address ends with CR LF`);
  return answer
    .text()
    .trimEnd()
    .split('\r\n')
    .map((href) => client.store(href));
}

export const partsOf = (answer: Answer): Part[] => parseMultipart(answer.headers['content-type'] ?? '', answer.body);
export const textsOf = (answer: Answer): string[] => partsOf(answer).map(({ body }) => body.toString());

/** The target of a link of a part. */
export function partLink({ headers }: Part, rel: string): string {
  const found = parseLinks(headers.link ?? '').find((link: Link) => link.rel.split(' ').includes(rel));
  return found?.href ?? assert.fail(`the part has no link "${rel}": ${JSON.stringify(headers)}`);
}

/** Polls until there is a message, and reads what makes it a delivery. */
export async function poll(world: World, queue: Queue, wait = 30): Promise<Delivery> {
  const { client } = world;
  const poller = await follow(world, queue, 'poller');
  const answer = (await client.post(poller, { headers: { 'accept-wait': String(wait) } })).expect(200);
  return {
    answer,
    text: answer.text(),
    message: client.store(answer.headers['content-location'] ?? ''),
    acknowledgement: linkOf(client, answer, 'acknowledgement'),
    count: Number(answer.headers['delivery-count']),
  };
}

/** Says something of a delivery, as a form. */
export const settle = (client: Client, acknowledgement: Address, verdict: Record<string, string>): Promise<Answer> =>
  client.post(acknowledgement, {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(verdict).toString(),
  });

export async function stateOf(client: Client, message: Address): Promise<string | undefined> {
  return (await client.get(message)).expect(200).headers['message-state'];
}

export async function countsOf(client: Client, { address }: { address: Address }): Promise<Record<string, number>> {
  return (await client.get(address)).expect(200).json<{ counts: Record<string, number> }>().counts;
}
