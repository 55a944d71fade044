/** Writes answers. The only place that touches a response. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../problems.ts';
import type { Answer } from './answer.ts';
import { isRead } from './body.ts';
import { isNotModified } from './conditions.ts';
import { offersOf, represent } from './document.ts';
import { announceEnd, isLatest } from './last-answer.ts';
import { formatLinks } from './links.ts';
import { chooseMediaType } from './negotiation.ts';
import { parsePrefer } from './prefer.ts';
import { problemAnswer } from './problem-answer.ts';

/** What the writer knows of the exchange, even when the request could not be read. */
export interface Exchange {
  readonly id: string;
  /** '' until it is known. */
  base: string;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  /** Fields for every answer of this exchange (CORS). */
  fields: readonly string[];
  /** Whether connections are to be closed after their answers. */
  readonly closing: () => boolean;
}

/** Fields whose value is a URI reference and may hold a path of ours. */
const URI_FIELDS = new Set(['Location', 'Content-Location']);

/**
 * Bodies up to this size go out together with the head. As text of one byte per character they are joined with it in one
 * piece, where a buffer would be handed to the system beside it: 3 to 5 % less CPU for an answer of 1 KiB.
 */
const ONE_PIECE = 16 * 1024;

/** Writes at once; gives a promise for a stream alone, which resolves when the stream is over. */
export function writeAnswer(exchange: Exchange, answer: Answer): Promise<void> | undefined {
  const { base, message } = exchange;
  const absolute = (href: string): string => (href.startsWith('/') ? base + href : href);
  const headers = [...exchange.fields, 'X-Request-Id', exchange.id];
  for (const [name, value] of answer.headers ?? []) headers.push(name, URI_FIELDS.has(name) ? absolute(value) : value);

  const links =
    answer.document === undefined ? (answer.links ?? []) : [...answer.document.links, ...(answer.links ?? [])];
  if (links.length > 0) headers.push('Link', formatLinks(links, base));
  if (answer.templates !== undefined && answer.templates.length > 0) {
    const templates = answer.templates.map(({ rel, href }) => `"${absolute(href)}"; rel="${rel}"`);
    headers.push('Link-Template', templates.join(', '));
  }

  if (answer.stream !== undefined) return writeStream(exchange, headers, answer.stream);
  const isSafe = message.method === 'GET' || message.method === 'HEAD';
  let content = answer.content;
  let { etag } = answer;
  if (answer.document !== undefined || answer.negotiated) {
    headers.push('Vary', 'Accept');
    const offers = answer.document === undefined ? [content?.type ?? ''] : offersOf(answer.document);
    // What was done cannot be undone by a 406: the answer to a write then comes in the first type there is.
    const type = chooseMediaType(message.headers.accept, offers) ?? (isSafe ? undefined : offers[0]);
    if (type === undefined) {
      writeProblem(exchange, notAcceptable(offers));
      return undefined;
    }
    if (answer.document !== undefined) {
      const found = represent(answer.document, type, absolute);
      content = found;
      etag = found.etag;
    }
  }
  if (answer.document !== undefined && !isSafe && prefersMinimal(message)) {
    // The fields say what was done; whoever wants the document follows Location or its own address.
    headers.push('Preference-Applied', 'return=minimal');
    content = undefined;
  }
  if (content?.type != null) headers.push('Content-Type', content.type);
  if (etag !== undefined) headers.push('ETag', etag);
  const unchanged = etag !== undefined && isSafe && answer.status === 200 && isNotModified(message, etag);
  send(exchange, unchanged ? 304 : answer.status, headers, content?.body);
  return undefined;
}

/** Keeps the answer open and writes as fast as the client reads. */
async function writeStream(
  exchange: Exchange,
  headers: string[],
  stream: NonNullable<Answer['stream']>,
): Promise<void> {
  const { message, response } = exchange;
  if (response.headersSent || response.destroyed) return;
  if (isLastOf(exchange)) closeAfter(exchange, headers);
  response.writeHead(200, [...headers, 'Content-Type', stream.type]);
  response.flushHeaders();
  const closed = once(response, 'close').catch(() => {});
  try {
    if (message.method !== 'HEAD') {
      await stream.run({
        get gone() {
          return response.destroyed;
        },
        async write(text) {
          if (!response.write(text)) await Promise.race([once(response, 'drain'), closed]);
        },
      });
    }
  } finally {
    response.end();
  }
}

function prefersMinimal({ headers: { prefer } }: IncomingMessage): boolean {
  if (prefer === undefined) return false;
  return parsePrefer(Array.isArray(prefer) ? prefer.join(', ') : prefer).return === 'minimal';
}

function notAcceptable(offers: readonly string[]): Problem {
  return new Problem('not-acceptable', `this can be served as ${offers.join(', ')}`, {
    members: { available: offers },
  });
}

export function writeProblem(exchange: Exchange, problem: Problem): void {
  const { message } = exchange;
  const rendered = problemAnswer(problem, exchange.id, exchange.base, message.headers.accept);
  const headers = [...exchange.fields, 'X-Request-Id', exchange.id, ...rendered.headers];
  send(exchange, problem.status, headers, rendered.body);
}

function send(exchange: Exchange, status: number, headers: string[], body?: Buffer): void {
  const { message, response } = exchange;
  if (response.headersSent || response.destroyed) return;
  // A body that was not read to its end would be taken for the next request.
  const isComplete = isRead(message);
  if (!isComplete || isLastOf(exchange) || saysClose(headers)) closeAfter(exchange, headers);
  const hasContent = status !== 204 && status !== 304;
  if (hasContent) headers.push('Content-Length', String(body?.length ?? 0));
  response.writeHead(status, headers);
  const content = hasContent && message.method !== 'HEAD' ? body : undefined;
  if (!isComplete) endAfterRequest(message, response, content);
  else if (content === undefined || content.length > ONE_PIECE) response.end(content);
  else response.end(content.toString('latin1'), 'latin1');
}

/** Whether the connection is to be closed after this answer. Not while others wait behind it: they are under way, too. */
const isLastOf = ({ closing, message, response }: Exchange): boolean => closing() && isLatest(message, response);

/** Names and values take turns, and a field that a message brought along may have any value. */
function saysClose(headers: readonly string[]): boolean {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === 'Connection') return true;
  return false;
}

/** Announces that this answer is the last of its connection. */
function closeAfter({ message }: Exchange, headers: string[]): void {
  if (!saysClose(headers)) headers.push('Connection', 'close');
  announceEnd(message);
}

/** How long a client that is refused may go on sending before it is cut off. */
export const LINGER_MILLISECONDS = 2000;

/**
 * Answers a request that is still being sent. Closing the connection at once would make the system throw away an answer
 * that the client has not read yet, so the rest of the request is read and forgotten for a while.
 */
function endAfterRequest(message: IncomingMessage, response: ServerResponse, content: Buffer | undefined): void {
  if (content === undefined) response.flushHeaders();
  else response.write(content);
  const end = (): void => {
    clearTimeout(cut);
    response.end();
  };
  const cut = setTimeout(end, LINGER_MILLISECONDS);
  message.once('end', end).once('close', end).resume();
}
