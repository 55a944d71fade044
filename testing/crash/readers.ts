/** Readers of topics that follow `next` and nothing else. */
import type { Answer } from '../http.ts';
import { type Client, isBusy, pathOf } from './exchange.ts';
import type { Ledger } from './ledger.ts';
import { messagesIn } from './parts.ts';

export type ReaderOptions = {
  readonly name: string;
  /** Where it begins: at the first message there is, or at what is posted after it has come. */
  readonly from: 'first' | 'next';
  readonly max?: number;
};

export type Reader = {
  /** Reads on in a topic; how many messages came. */
  read(topic: string, wait: number): Promise<number>;
};

export function createReader(client: Client, ledger: Ledger, { name, from, max }: ReaderOptions): Reader {
  /** The link to follow next, by topic. */
  const links = new Map<string, string>();

  function note(topic: string, answer: Answer): number {
    const messages = messagesIn(answer);
    for (const { location, body } of messages) ledger.read(name, topic, pathOf(location), body);
    links.set(topic, pathOf(answer.link('next')));
    return messages.length;
  }

  async function begin(topic: string): Promise<number> {
    const answer =
      from === 'first' ? await client.send(`${topic}/first`, {}) : await client.send(topic, { method: 'HEAD' });
    // A topic is made by the first message in it.
    if (answer === undefined || isBusy(answer) || answer.status === 204 || answer.status === 404) return 0;
    if (answer.status !== 200) {
      ledger.wrong(`${name} began with ${topic} and was answered ${answer.status}`);
      return 0;
    }
    ledger.begins(name, topic, from === 'first');
    if (from === 'first') return note(topic, answer);
    links.set(topic, pathOf(answer.link('next')));
    return 0;
  }

  return {
    async read(topic, wait) {
      const link = links.get(topic);
      if (link === undefined) return begin(topic);
      const path = max === undefined ? link : `${link}?max=${max}`;
      const answer = await client.send(path, { headers: { 'accept-wait': String(wait) } });
      if (answer === undefined || isBusy(answer)) return 0;
      if (answer.status === 204 && pathOf(answer.link('next')) === link) return 0;
      if (answer.status === 200) return note(topic, answer);
      ledger.wrong(`${name} followed ${path} and was answered ${answer.status}`);
      return 0;
    },
  };
}
