/** HTTP of reading a topic: first, last, next, and next as a stream of events. */
import type { Answer } from '../../http/answer.ts';
import { NO_STORE } from '../../http/answer.ts';
import type { Link } from '../../http/links.ts';
import { wantsNamed } from '../../http/negotiation.ts';
import type { Operation, Route } from '../../http/operation.ts';
import { readQuery } from '../../http/parameters.ts';
import type { Request } from '../../http/request.ts';
import { integer } from '../../kinds.ts';
import { paths } from '../../paths.ts';
import { Problem } from '../../problems.ts';
import type { Destination } from '../destination.ts';
import type { Messaging } from '../messaging.ts';
import type { Reading } from '../usecases/reading.ts';
import { destinationLinks } from '../views/links.ts';
import { FOR_BROWSERS } from '../views/messages.ts';
import {
  AREA,
  answerWith,
  chosenByAccept,
  type MessagingRouteOptions,
  nameOf,
  SEVERAL_ELSEWHERE,
  SEVERAL_HELP,
  SEVERAL_TYPES,
  severalType,
  viewOf,
} from './common.ts';
import { EVENT_STREAM, streamFrom } from './event-stream.ts';
import { DELIVERY_FIELDS } from './shapes.ts';
import { readWait, waitHeaders } from './waiting.ts';

export function readingRoutes(messaging: Messaging, options: MessagingRouteOptions): Route[] {
  const { destinations, reading } = messaging;
  const query = {
    max: { kind: integer(1, options.maxBatch), help: SEVERAL_HELP, alsoCalled: SEVERAL_ELSEWHERE },
  } as const;

  const topicOf = (request: Request): Promise<Destination> => destinations.get('topic', nameOf(request));
  const nextLink = (topic: Destination, position: string): Link => ({
    rel: 'next',
    href: paths.next.href({ name: topic.name, position }),
  });

  /** Says that messages which stood between are not retained any more. */
  const firstLink = (topic: Destination): Link => ({ rel: 'first', href: paths.first.href({ name: topic.name }) });

  function end(word: 'first' | 'last', summary: string, find: Reading['oldest']): Operation {
    return {
      summary,
      headers: waitHeaders,
      produces: ['*'],
      gives: { 200: DELIVERY_FIELDS, 204: ['Link'] },
      answers: { 200: 'The message, with its own content', 204: 'The topic holds no message' },
      problems: ['unknown-destination', 'bad-header', 'bad-query', 'busy'],
      async handle(request) {
        const wait = readWait(request, options.maxWait);
        const topic = await topicOf(request);
        if (request.query.has('max')) throw oneAtATime(topic, word);
        // Taken before the look, so that following `next` from a 204 misses nothing posted meanwhile.
        const links = destinationLinks(topic, { position: await reading.position(topic) });
        const message = await find(topic, { wait, client: request });
        const views = message === undefined ? [] : [viewOf(messaging, topic, message, { state: 'available' })];
        return answerWith(request, views, { several: false, links: () => links, wait });
      },
    };
  }

  const next: Operation = {
    summary: 'The message behind a position; waits for it when asked to. text/event-stream gives all that follow',
    query,
    headers: { ...waitHeaders, 'Last-Event-ID': 'the position to resume a stream at' },
    produces: ['*', ...SEVERAL_TYPES, EVENT_STREAM],
    gives: { 200: DELIVERY_FIELDS, 204: ['Link'] },
    answers: { 200: 'The message, with its own content', 204: 'No message now' },
    problems: ['unknown-destination', 'not-found', 'bad-header', 'bad-query', 'busy'],
    async handle(request) {
      const { max } = readQuery(request.query, query);
      const wait = readWait(request, options.maxWait);
      const topic = await topicOf(request);
      const position = request.parameters.position as string;
      const nextType = async (): Promise<string | null | undefined> => {
        const { messages } = await reading.after(topic, position, { max: 1, wait: 0 }, request);
        return max === undefined ? messages[0]?.contentType : severalType(request);
      };
      if (await wantsEvents(request, nextType)) return stream(request, topic, position);
      const { messages, gap } = await reading.after(topic, position, { max: max ?? 1, wait }, request);
      const views = messages.map((message) => viewOf(messaging, topic, message, { state: 'available' }));
      const last = messages.at(-1);
      // Nothing yet: the same link again. Several: the link behind the last of them.
      const links = [nextLink(topic, last === undefined ? position : reading.positionOf(topic, last))];
      const extra = gap ? [firstLink(topic)] : [];
      const several = max !== undefined;
      const answer = answerWith(request, views, { several, links: () => links, extra, wait });
      return several ? answer : chosenByAccept(answer);
    },
  };

  const summary = 'The oldest message that is still there. text/event-stream gives it and all that follow';
  const oldest = end('first', summary, reading.oldest);
  const first: Operation = {
    ...oldest,
    headers: { ...waitHeaders, 'Last-Event-ID': 'the position to resume a stream at' },
    produces: ['*', EVENT_STREAM],
    problems: ['unknown-destination', 'not-found', 'bad-header', 'bad-query', 'busy'],
    async handle(request) {
      // A stream waits for what comes anyway; what cannot be read is refused all the same.
      readWait(request, options.maxWait);
      const topic = await topicOf(request);
      if (request.query.has('max')) throw oneAtATime(topic, 'first');
      const isStream = await wantsEvents(request, async () => (await reading.oldest(topic))?.contentType);
      return isStream ? stream(request, topic, reading.beginning(topic)) : chosenByAccept(await oldest.handle(request));
    },
  };

  /** Whoever asks for several is not given one as if there were no more: `next` from the beginning gives them. */
  function oneAtATime(topic: Destination, word: 'first' | 'last'): Problem {
    const detail = `is not known here: ${word} gives one message; next, which is linked, takes it from the beginning on`;
    return new Problem('bad-query', `max ${detail}`, {
      errors: [{ parameter: 'max', detail }],
      links: [nextLink(topic, reading.beginning(topic))],
    });
  }

  async function stream(request: Request, topic: Destination, position: string): Promise<Answer> {
    const lastEvent = request.headers['last-event-id'];
    const from = typeof lastEvent === 'string' && lastEvent !== '' ? lastEvent : position;
    // A position that is none of this topic is refused before the stream begins.
    const { gap } = await reading.after(topic, from, { max: 1, wait: 0 }, request);
    return chosenByAccept({
      status: 200,
      headers: [...FOR_BROWSERS, NO_STORE],
      links: [nextLink(topic, from), ...(gap ? [firstLink(topic)] : [])],
      stream: { type: EVENT_STREAM, run: (sink) => streamFrom(messaging, topic, from, request, sink) },
    });
  }

  return [
    {
      resource: paths.first,
      title: 'The first message of a topic',
      area: AREA,
      operations: { GET: first },
    },
    {
      resource: paths.last,
      title: 'The last message of a topic',
      area: AREA,
      operations: { GET: end('last', 'The newest message', reading.newest) },
    },
    { resource: paths.next, title: 'The next message of a topic', area: AREA, operations: { GET: next } },
  ];
}

/**
 * Message content ignores Accept, with this one exception: events must be asked for by name, and not less than the type
 * of the message that would come instead. `ownType` looks that up; undefined: there is none yet.
 */
async function wantsEvents(
  { headers: { accept } }: Request,
  ownType: () => Promise<string | null | undefined>,
): Promise<boolean> {
  if (accept === undefined || !accept.toLowerCase().includes(EVENT_STREAM)) return false;
  if (wantsNamed(accept, EVENT_STREAM)) return true;
  const type = await ownType();
  return type !== undefined && wantsNamed(accept, EVENT_STREAM, type ?? 'application/octet-stream');
}
