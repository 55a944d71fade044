import type { Answer } from './client.ts';
import { consumerWorld } from './consumer-world.ts';
import { allowed, mediaType } from './expect.ts';
import type { Link } from './links.ts';
import { freshLink, poll, textBatch } from './steps.ts';
import { contentOfJson } from './twins.ts';
import type { World } from './world.ts';

/** A page that was met: how it was found, and what GET answered. */
export type Page = { url: string; foundAs: string; answer: Answer };
export type Crawl = {
  pages: Page[];
  /** Everything that was met, pages and what GET does not answer, with the methods it allows. */
  resources: { url: string; methods: string[] }[];
  /** Links in headers and documents, as they stand there. */
  links: (Link & { foundOn: string })[];
};

/** Enough for every kind of resource; a service in use holds more than anybody wants to look at. */
const MOST_RESOURCES = 250;

/** Follows every link from the root on, within this service, and looks with GET at what can be read. */
export async function crawl(world: World): Promise<Crawl> {
  const { client } = world;
  const found: Crawl = { pages: [], resources: [], links: [] };
  const seen = new Set<string>();
  const waiting: { url: string; foundAs: string }[] = [];
  const add = (url: string, foundAs: string) => {
    const key = client.store(url);
    if (seen.has(key) || key === url) return;
    seen.add(key);
    waiting.push({ url, foundAs });
  };
  for (const url of await startingPoints(world)) add(url, 'a starting point');
  for (let next = waiting.shift(); next && found.resources.length < MOST_RESOURCES; next = waiting.shift()) {
    const { url, foundAs } = next;
    const methods = allowed((await client.send('OPTIONS', url)).expect(204));
    found.resources.push({ url, methods });
    if (!methods.includes('GET')) continue;
    const answer = await client.get(url);
    found.pages.push({ url, foundAs, answer });
    const anchors = anchorsOf(answer).map((href) => ({ rel: 'anchor', href: new URL(href, url).href }));
    for (const link of [...linksOf(answer, world.isOwn), ...anchors]) {
      found.links.push({ ...link, foundOn: url });
      add(link.href, `${link.rel} of ${url}`);
    }
  }
  return found;
}

/** The root of each node, and something of each kind, which is reached from the root but perhaps after many pages. */
async function startingPoints(world: World): Promise<string[]> {
  const { client } = world;
  // What is polled stays leased while its page is looked at again and again.
  const queue = await world.queue({ lease: 600 });
  const topic = await world.topic();
  // A name that ends so is a dead-letter queue.
  const dead = await world.address('queue', `${queue.name}.dead`);
  (await client.put(dead)).expect(201);
  const [message] = await world.post(queue, ['one', 'two', 'three']);
  const [news] = await world.post(topic, ['news']);
  (await client.post(queue.receiving)).expect(200);
  const { acknowledgement } = await poll(world, queue);
  const links: string[] = [];
  for (const to of [queue, topic]) {
    const [single, several] = [await freshLink(world, to), await freshLink(world, to, 'post-batch-once')];
    (await client.post(single, { body: 'once' })).expect(200);
    (await client.post(several, textBatch(['once', 'more']))).expect(200);
    links.push(single, several, await freshLink(world, to));
  }
  const { consumer, grant } = consumerWorld(world);
  const owner = await consumer();
  const granted = await grant(owner);
  const registered = [owner, granted].map((each) => client.store(each.link('self')));
  const found = [queue.address, topic.address, dead, message, news, acknowledgement, ...links, ...registered];
  const own = found.filter((each) => each !== undefined);
  return [...client.bases.map((base) => `${base}/`), ...own.map((each) => `${client.bases[0]}${each}`)];
}

/** Of the items of a list only our own: others may be gone before we look at them. */
function linksOf(answer: Answer, isOwn: (name: string) => boolean): Link[] {
  // A message may be JSON, but is no document of the service.
  if (mediaType(answer) !== 'application/json' || answer.headers['message-id'] !== undefined) return answer.links;
  const { links, items } = contentOfJson(answer.json());
  const ours = items.filter(({ fields }) => typeof fields.name !== 'string' || isOwn(fields.name));
  return [...links, ...answer.links, ...ours.flatMap((item) => item.links)];
}

function anchorsOf(answer: Answer): string[] {
  if (mediaType(answer) !== 'text/html') return [];
  return [...answer.text().matchAll(/<a\s[^>]*href="([^"#]+)"/g)].map((match) => match[1] ?? '');
}
