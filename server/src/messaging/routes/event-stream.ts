/** A topic as server-sent events: one event per message, its id the position to resume at. */
import type { Sink } from '../../http/answer.ts';
import type { Request } from '../../http/request.ts';
import type { StoredMessage } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import type { Messaging } from '../messaging.ts';
import { messagePath } from '../views/links.ts';

export const EVENT_STREAM = 'text/event-stream';

/** A comment this often keeps proxies from closing a quiet stream, and notices a client that is gone. */
const HEARTBEAT_SECONDS = 15;
const AT_ONCE = 100;

/** Runs until the client hangs up or the service shuts down. */
export async function streamFrom(
  messaging: Messaging,
  topic: Destination,
  from: string,
  request: Request,
  sink: Sink,
): Promise<void> {
  const { reading, waiters, destinations } = messaging;
  let position = from;
  await sink.write(': a stream of the topic\n\n');
  while (!sink.gone && !waiters.stopped) {
    // A deleted topic ends its streams; a client that reconnects is told 404.
    if ((await destinations.find('topic', topic.name))?.id !== topic.id) return;
    const wanted = { max: AT_ONCE, wait: HEARTBEAT_SECONDS };
    const { messages } = await reading.after(topic, position, wanted, request);
    if (messages.length === 0) await sink.write(': still here\n\n');
    else await sink.write(messages.map(eventOf).join(''));
    const last = messages.at(-1);
    if (last !== undefined) position = reading.positionOf(topic, last);
  }

  function eventOf(message: StoredMessage): string {
    const href = request.base + messagePath('topic', topic.name, messaging.publicId(message));
    const event = { href, type: message.contentType ?? undefined, ...dataOf(message.body) };
    // JSON has no line breaks, so the data is one line.
    return `id: ${reading.positionOf(topic, message)}\ndata: ${JSON.stringify(event)}\n\n`;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Text as it is, anything else in base64. */
function dataOf(body: Buffer): { data: string } | { data_base64: string } {
  try {
    return { data: utf8.decode(body) };
  } catch {
    return { data_base64: body.toString('base64') };
  }
}
