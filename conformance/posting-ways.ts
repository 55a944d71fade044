/** All ways of posting to a destination, in a transaction and outside. */
import type { Answer, Options } from './client.ts';
import type { Manager, Transaction } from './transactions.ts';
import type { Destination, Queue, World } from './world.ts';

export type Way = {
  readonly at: string;
  /** The messages that it posts. */
  readonly posts: readonly string[];
  /** The status that says that they are stored. */
  readonly okay: number;
  post(headers?: Record<string, string>): Promise<Answer>;
  postIn(transaction: Transaction): Promise<Answer>;
};

export const TEXT = { 'content-type': 'text/plain' };
export const BATCH = { 'content-type': 'multipart/mixed; boundary=b' };
const part = (text: string): string => `--b\r\nContent-Type: text/plain\r\n\r\n${text}\r\n`;
const batchOf = (texts: readonly string[]): string => `${texts.map(part).join('')}--b--\r\n`;

export function createWays({ client }: World, manager: Manager) {
  /** The header that puts a request into a transaction, for the node that gets it. */
  function inside(transaction: Transaction): { base: string; headers: Record<string, string> } {
    const { base, href } = manager.on(transaction.address);
    return { base, headers: { link: `<${href}>; rel="transaction"` } };
  }

  const send = (method: string, address: string, transaction: Transaction, options: Options = {}) => {
    const { base, headers } = inside(transaction);
    return client.send(method, `${base}${address}`, { ...options, headers: { ...options.headers, ...headers } });
  };

  function way(at: string, okay: number, { method = 'POST', many = false } = {}): Way {
    const posts = many ? ['one', 'two'] : ['one'];
    const content = many ? { headers: BATCH, body: batchOf(posts) } : { headers: TEXT, body: 'one' };
    return {
      at,
      okay,
      posts,
      post: (headers) => client.send(method, at, { ...content, headers: { ...content.headers, ...headers } }),
      postIn: (transaction) => send(method, at, transaction, content),
    };
  }

  /** By the name of their relation; each link of those that are once-only is a fresh one. */
  async function waysOf(destination: Destination & Partial<Queue>): Promise<Record<string, Way>> {
    const links = (await client.head(destination.address)).expect(200);
    const link = (rel: string) => client.store(links.link(rel));
    const once = async (rel: string) => client.store((await client.post(link(rel))).expect(200).link('create-next'));
    return {
      direct: way(destination.address, 204),
      'post-message': way(link('post-message'), 201),
      'post-message-once': way(await once('post-message-once'), 200),
      'post-batch': way(link('post-batch'), 201, { many: true }),
      'post-batch-once': way(await once('post-batch-once'), 200, { many: true }),
      ...(destination.message && { put: way(destination.message('chosen'), 201, { method: 'PUT' }) }),
    };
  }

  return { inside, send, waysOf };
}
