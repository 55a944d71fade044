/** Steady traffic on one queue that keeps books: what was answered, what was not, and how long each answer took. */
import { Agent } from 'node:http';
import { eventually } from '../../testing/eventually.ts';
import { type Answer, request } from '../../testing/http.ts';
import type { WaypostProcess } from '../../testing/waypost.ts';

export type Books = {
  /** Bodies that were answered with "stored", with the address of their message. */
  posted: Map<string, string>;
  received: string[];
  /** Requests that were answered 503 or not at all: they may have happened or not. */
  unknown: { posts: Set<string>; receives: number };
  answers: { answer: Answer; milliseconds: number }[];
};

export type Traffic = {
  /** Resolves when every client has had a good answer since this call. */
  flows(): Promise<void>;
  /** Ends the posting, receives what is left and closes the books. */
  stop(): Promise<Books>;
};

let queues = 0;

export async function startTraffic(
  waypost: WaypostProcess,
  { posters, receivers }: { posters: number; receivers: number },
): Promise<Traffic> {
  queues += 1;
  const queue = `${waypost.url}/queues/traffic-${queues}`;
  await eventually('the queue is made', async () => (await request(queue, { method: 'PUT' })).status === 201);
  const agent = new Agent({ keepAlive: true });
  const books: Books = { posted: new Map(), received: [], unknown: { posts: new Set(), receives: 0 }, answers: [] };
  const good = new Map<string, number>();
  let posting = true;
  let receiving = true;

  async function timed(url: string, options: Parameters<typeof request>[1], wait = 0): Promise<Answer> {
    const started = performance.now();
    const answer = await request(url, { ...options, agent });
    books.answers.push({ answer, milliseconds: performance.now() - started - wait });
    return answer;
  }

  async function poster(number: number): Promise<void> {
    for (let count = 0; posting; count += 1) {
      const body = `${number}/${count}`;
      const answer = await timed(queue, { method: 'POST', body });
      if (answer.status === 204) {
        books.posted.set(body, answer.headers.location ?? '');
        good.set(`poster ${number}`, performance.now());
      } else books.unknown.posts.add(body);
    }
  }

  async function receiver(number: number): Promise<void> {
    while (receiving) {
      const options = { method: 'POST', headers: { 'Accept-Wait': '1' } };
      const answer = await timed(`${queue}/receiving`, options, 1000);
      if (answer.status === 200) books.received.push(answer.text());
      else if (answer.status !== 204) books.unknown.receives += 1;
      if (answer.status < 300) good.set(`receiver ${number}`, performance.now());
    }
  }

  const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
  const all = { posters: range(posters).map(poster), receivers: range(receivers).map(receiver) };
  return {
    async flows() {
      const since = performance.now();
      await eventually('everybody gets good answers', () => {
        const times = [...good.values()];
        return times.length === posters + receivers && times.every((time) => time > since);
      });
    },
    async stop() {
      posting = false;
      await Promise.all(all.posters);
      receiving = false;
      await Promise.all(all.receivers);
      for (;;) {
        const answer = await timed(`${queue}/receiving`, { method: 'POST' });
        if (answer.status === 204) break;
        if (answer.status === 200) books.received.push(answer.text());
        else books.unknown.receives += 1;
      }
      agent.destroy();
      return books;
    },
  };
}
