import assert from 'node:assert/strict';
import { type IncomingMessage, request as openPlain } from 'node:http';
import { request as openSecure } from 'node:https';

/** One server-sent event as it came. */
export type ServerEvent = { id: string; data: string };

/** An open event stream. */
export type EventStream = {
  status: number;
  headers: IncomingMessage['headers'];
  /** The next event; fails when the stream ends or stays silent. */
  next(): Promise<ServerEvent>;
  take(count: number): Promise<ServerEvent[]>;
  /** Settles when the service has ended the stream, and fails when the connection broke instead. */
  ended: Promise<void>;
  close(): void;
};

const PATIENCE = 30_000;

/** Opens an absolute URI as an event stream and comes back when its head is there. */
export function openEvents(url: string, headers: Record<string, string> = {}): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    const open = url.startsWith('https:') ? openSecure : openPlain;
    const outgoing = open(url, { headers: { accept: 'text/event-stream', ...headers }, agent: false });
    outgoing.once('error', reject);
    outgoing.once('response', (incoming) => resolve(streamOf(incoming, () => outgoing.destroy())));
    outgoing.end();
  });
}

function streamOf(incoming: IncomingMessage, close: () => void): EventStream {
  const waiting: { resolve: (event: ServerEvent) => void; reject: (error: Error) => void }[] = [];
  const arrived: ServerEvent[] = [];
  let text = '';
  incoming.setEncoding('utf8');
  incoming.on('data', (piece: string) => {
    text += piece;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = eventOf(text.slice(0, end));
      text = text.slice(end + 2);
      if (event === undefined) continue;
      const first = waiting.shift();
      if (first === undefined) arrived.push(event);
      else first.resolve(event);
    }
  });
  const ended = new Promise<void>((resolve, reject) => {
    incoming.once('end', resolve);
    incoming.once('error', reject);
  });
  const giveUp = () => {
    for (const { reject } of waiting.splice(0)) reject(new Error('the stream ended'));
  };
  ended.then(giveUp, giveUp);
  const next = async (): Promise<ServerEvent> => {
    const event = arrived.shift();
    if (event !== undefined) return event;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no event within ${PATIENCE / 1000} s`)), PATIENCE);
      waiting.push({
        resolve: (found) => {
          clearTimeout(timer);
          resolve(found);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
    });
  };
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    next,
    async take(count) {
      const events: ServerEvent[] = [];
      while (events.length < count) events.push(await next());
      return events;
    },
    ended,
    close,
  };
}

/** Reads one block of lines; undefined for one that only holds comments. */
function eventOf(block: string): ServerEvent | undefined {
  const fields: Record<string, string[]> = {};
  for (const line of block.split('\n')) {
    if (line.startsWith(':')) continue;
    const [, name = '', value = ''] =
      /^([a-z]+): ?([\s\S]*)$/.exec(line) ?? assert.fail(`not a line of an event: ${line}`);
    fields[name] = [...(fields[name] ?? []), value];
  }
  if (fields.data === undefined) return undefined;
  assert.equal(fields.id?.length, 1, `an event has one id: ${block}`);
  return { id: fields.id?.[0] ?? '', data: fields.data.join('\n') };
}
