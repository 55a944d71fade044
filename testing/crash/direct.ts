/** Clients of the direct interface: they post, put and receive. */
import { bodyOf } from './bodies.ts';
import { type Client, isBusy, pathOf } from './exchange.ts';
import type { Ledger } from './ledger.ts';
import { messagesIn } from './parts.ts';
import type { Place } from './places.ts';

/** How a receiver asks. */
export type Wish = { max?: number; wait?: number };

/** One try. Whether a post without an answer was stored is never known, so it is not repeated. */
export async function post(client: Client, ledger: Ledger, place: Place, key: string): Promise<void> {
  ledger.sent('post', place, key);
  const answer = await client.send(place.path, { method: 'POST', body: bodyOf(key) });
  if (answer === undefined || isBusy(answer)) return;
  if (answer.status !== 204) {
    ledger.wrong(`POST ${place.path} of ${key} was answered ${answer.status}: ${answer.text()}`);
  } else ledger.answered(key, pathOf(answer.headers.location), true);
}

/** Tries until there is an answer, under the same id. */
export async function put(client: Client, ledger: Ledger, place: Place, key: string): Promise<void> {
  const path = `${place.path}/messages/${key}`;
  const { status, headers, text } = await client.insist(path, { method: 'PUT', body: bodyOf(key) }, () =>
    ledger.sent('put', place, key),
  );
  if (status !== 200 && status !== 201) ledger.wrong(`PUT ${path} was answered ${status}: ${text()}`);
  else ledger.answered(key, pathOf(headers.location), status === 201);
}

/** How many messages came. */
export async function receive(client: Client, ledger: Ledger, queue: string, { max, wait }: Wish): Promise<number> {
  const path = `${queue}/receiving${max === undefined ? '' : `?max=${max}`}`;
  const headers: Record<string, string> = wait === undefined ? {} : { 'accept-wait': String(wait) };
  const answer = await client.send(path, { method: 'POST', headers });
  if (answer === undefined) ledger.cut(queue, max ?? 1);
  // A queue is made by the first message in it.
  if (answer === undefined || isBusy(answer) || answer.status === 204 || answer.status === 404) return 0;
  if (answer.status !== 200) {
    ledger.wrong(`POST ${path} was answered ${answer.status}: ${answer.text()}`);
    return 0;
  }
  const messages = messagesIn(answer);
  if (messages.length === 0 || messages.length > (max ?? 1)) ledger.wrong(`${path} gave ${messages.length} messages`);
  for (const { location, body } of messages) ledger.received(queue, pathOf(location), body);
  return messages.length;
}
