/** Clients of once-only links, and of batches with and without them. */
import type { Answer } from '../http.ts';
import { bodyOf } from './bodies.ts';
import { type Client, isBusy, pathOf } from './exchange.ts';
import type { Ledger } from './ledger.ts';
import type { Place } from './places.ts';
import type { Random } from './random.ts';

export type OncePoster = {
  /** Posts one message, or several as a batch, to the link it holds, until an answer says that it is stored. */
  post(place: Place, keys: readonly string[]): Promise<void>;
};

/** How often a link that was used before is used again, with something that nobody must ever receive. */
const NEEDLESS_REPEATS = 0.1;
/** How many used links a client keeps for that; the oldest have seen many kills. */
const KEPT_LINKS = 40;

/** Keeps its create-next link from answer to answer, as a client in the field would. */
export function createOncePoster(
  client: Client,
  ledger: Ledger,
  random: Random,
  way: 'once' | 'batch-once',
): OncePoster {
  const isBatch = way === 'batch-once';
  const used: string[] = [];
  let held: { destination: string; link: string } | undefined;
  const sent = (keys: readonly string[]) => (isBatch ? batchOf(keys) : { body: bodyOf(keys[0] ?? '') });

  async function obtain(destination: string): Promise<string> {
    if (held?.destination === destination) return held.link;
    const answer = await client.insist(`${destination}/${isBatch ? 'batch-once' : 'post-once'}`, { method: 'POST' });
    return pathOf(answer.link('create-next'));
  }

  /** The addresses of what the link has stored. */
  async function stored(link: string, answer: Answer): Promise<string[]> {
    if (answer.status === 200) return isBatch ? uriList(answer) : [pathOf(answer.headers['content-location'])];
    const look = await client.insist(link, {});
    if (look.status !== (isBatch ? 200 : 303)) {
      ledger.wrong(`${link} was used before, but GET was answered ${look.status}: ${look.text()}`);
      return [];
    }
    return isBatch ? uriList(look) : [pathOf(look.headers.location)];
  }

  async function useAgain(): Promise<void> {
    const link = random.pick(used);
    const answer = await client.insist(link, { method: 'POST', ...sent([`ghost of ${link}`]) });
    if (answer.status !== 405) ledger.wrong(`${link} was used before, and was answered ${answer.status}`);
  }

  return {
    async post(place, keys) {
      const link = await obtain(place.path);
      const answer = await client.insist(link, { method: 'POST', ...sent(keys) }, () => {
        for (const key of keys) ledger.sent(way, place, key, keys[0]);
      });
      held = undefined;
      if (answer.status !== 200 && answer.status !== 405) {
        ledger.wrong(`POST ${link} of ${keys[0]} was answered ${answer.status}: ${answer.text()}`);
        return;
      }
      held = { destination: place.path, link: pathOf(answer.link('create-next')) };
      const locations = await stored(link, answer);
      if (locations.length !== keys.length) ledger.wrong(`${link} has ${locations.length} of ${keys.length} messages`);
      for (const [index, key] of keys.entries()) {
        const location = locations[index];
        if (location !== undefined) ledger.answered(key, location, answer.status === 200);
      }
      used.push(link);
      if (used.length > KEPT_LINKS) used.shift();
      if (random.fraction() < NEEDLESS_REPEATS) await useAgain();
    },
  };
}

/** One try of a batch without a link. */
export async function postBatch(client: Client, ledger: Ledger, place: Place, keys: readonly string[]): Promise<void> {
  for (const key of keys) ledger.sent('batch', place, key, keys[0]);
  const answer = await client.send(`${place.path}/batches`, { method: 'POST', ...batchOf(keys) });
  if (answer === undefined || isBusy(answer)) return;
  const locations = uriList(answer);
  if (answer.status !== 201 || locations.length !== keys.length) {
    ledger.wrong(`a batch of ${keys.length} to ${place.path} was answered ${answer.status}: ${answer.text()}`);
    return;
  }
  for (const [index, key] of keys.entries()) ledger.answered(key, locations[index] ?? '', true);
}

const BOUNDARY = 'part-of-a-batch';

function batchOf(keys: readonly string[]): { headers: Record<string, string>; body: string } {
  const parts = keys.map((key) => `--${BOUNDARY}\r\nContent-Type: text/plain\r\n\r\n${bodyOf(key)}\r\n`);
  return {
    headers: { 'content-type': `multipart/mixed; boundary=${BOUNDARY}` },
    body: `${parts.join('')}--${BOUNDARY}--\r\n`,
  };
}

const uriList = (answer: Answer): string[] =>
  answer
    .text()
    .split('\r\n')
    .filter((line) => line !== '')
    .map(pathOf);
