/** Consumers and entitlements, as the cases about them make and look at them: by links alone. */
import type { Address, Answer } from './client.ts';
import type { World } from './world.ts';

export const JSON_TYPE = { 'content-type': 'application/json' };
export const AS_JSON = { accept: 'application/json' };
export const XML_TYPE = { 'content-type': 'application/xml' };

export type ConsumerDocument = {
  id: string;
  name: string;
  state: string;
  'entitlement-count': number;
  'external-key'?: string;
  metadata?: Record<string, string>;
  created: string;
  updated: string;
  terminated?: { at: string; reason?: string };
};

export type EntitlementDocument = {
  id: string;
  consumer: string;
  product: { id: string; name?: string };
  quantity: number;
  start: string;
  end?: string;
  state: string;
  terminated?: { at: string; reason?: string; cause: string };
};

type Item = { id: string; name?: string; links: { rel: string; href: string }[] };

const MOST_PAGES = 2000;

export function consumerWorld(world: World) {
  const { client } = world;
  const post = (address: Address, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
    client.post(address, { headers: { ...JSON_TYPE, ...AS_JSON, ...headers }, body: JSON.stringify(body) });
  const read = (address: Address): Promise<Answer> => client.get(client.store(address), { headers: AS_JSON });
  /** The present document of what an answer showed, on the nodes in turn. */
  const again = async (answer: Answer): Promise<Answer> => (await read(answer.link('self'))).expect(200);

  return {
    post,
    read,
    again,
    /** POST without content to the target of a link. */
    follow: (answer: Answer, rel: string, body: object = {}): Promise<Answer> =>
      post(client.store(answer.link(rel)), body),
    async consumer(body: object = {}): Promise<Answer> {
      const answer = await post(await world.link('consumers'), { name: world.name('consumer'), ...body });
      return answer.expect(201);
    },
    async grant(consumer: Answer, body: object | string = 'p1'): Promise<Answer> {
      const fields = typeof body === 'string' ? { product: body } : body;
      return (await post(client.store(consumer.link('entitlements')), fields)).expect(201);
    },
    /** The URI of what an answer showed, as the first node names it: another node may not know that name for its own. */
    uriOf: (answer: Answer): string => `${client.bases[0]}${client.store(answer.link('self'))}`,
    /** The items of all pages of a list. */
    async list(address: Address, query: Record<string, string | number> = {}): Promise<Item[]> {
      const items: Item[] = [];
      let page = (await client.get(client.store(address), { headers: AS_JSON, query })).expect(200);
      for (let pages = 1; pages < MOST_PAGES; pages++) {
        items.push(...page.json<{ items: Item[] }>().items);
        if (!page.has('next')) return items;
        page = (await read(page.link('next'))).expect(200);
      }
      throw new Error(`${address} has more than ${MOST_PAGES} pages`);
    },
    /** Reads a topic from a place on to its end. */
    async eventsFrom(next: Address): Promise<Answer[]> {
      const events: Answer[] = [];
      for (let answer = await client.get(next); answer.expect(200, 204).status === 200; ) {
        events.push(answer);
        answer = await client.get(client.store(answer.link('next')));
      }
      return events;
    },
  };
}

/** The version in an ETag. The rest depends on the representation, and that on the name of the node. */
export const versionIn = ({ headers }: Answer): string | undefined => headers.etag?.replace(/-[^-]*$/, '');

export const consumerOf = (answer: Answer): ConsumerDocument => answer.json<ConsumerDocument>();
export const entitlementOf = (answer: Answer): EntitlementDocument => answer.json<EntitlementDocument>();
