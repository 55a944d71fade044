/** Writes answers. The only place that touches a response. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../problems.ts';
import type { Answer } from './answer.ts';
import { isNotModified } from './conditions.ts';
import { offersOf, represent } from './document.ts';
import { formatLinks, type Link } from './links.ts';
import { problemAnswer } from './problem-answer.ts';

/** What the writer knows of the exchange, even when the request could not be read. */
export interface Exchange {
  readonly id: string;
  readonly base: string;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  /** Fields for every answer of this exchange (CORS, Connection). */
  readonly fields: readonly string[];
}

/** Fields whose value is a URI reference and may hold a path of ours. */
const URI_FIELDS = new Set(['Location', 'Content-Location']);

/**
 * Bodies up to this size go out together with the head. As text of one byte per character they are joined with it in one
 * piece; a buffer would be handed to the system beside the head, which takes twice as long.
 */
const ONE_PIECE = 16 * 1024;

export function writeAnswer(exchange: Exchange, answer: Answer): void {
  const { base, message, response } = exchange;
  const absolute = (href: string): string => (href.startsWith('/') ? base + href : href);
  const headers = [...exchange.fields, 'X-Request-Id', exchange.id];
  for (const [name, value] of answer.headers ?? []) headers.push(name, URI_FIELDS.has(name) ? absolute(value) : value);

  const links =
    answer.document === undefined ? (answer.links ?? []) : [...answer.document.links, ...(answer.links ?? [])];
  if (links.length > 0) headers.push('Link', formatLinks(withAbsolute(links, absolute)));
  if (answer.templates !== undefined && answer.templates.length > 0) {
    const templates = answer.templates.map(({ rel, href }) => `"${absolute(href)}"; rel="${rel}"`);
    headers.push('Link-Template', templates.join(', '));
  }

  if (answer.stream !== undefined) {
    void writeStream(exchange, headers, answer.stream);
    return;
  }
  let content = answer.content;
  let { etag } = answer;
  if (answer.document !== undefined) {
    headers.push('Vary', 'Accept');
    const found = represent(answer.document, message.headers.accept, absolute);
    if (found === undefined) {
      writeProblem(exchange, notAcceptable(offersOf(answer.document)));
      return;
    }
    content = found;
    etag = found.etag;
  }
  if (content?.type != null) headers.push('Content-Type', content.type);
  if (etag !== undefined) headers.push('ETag', etag);
  const isSafe = message.method === 'GET' || message.method === 'HEAD';
  const unchanged = etag !== undefined && isSafe && answer.status === 200 && isNotModified(message, etag);
  send(message, response, unchanged ? 304 : answer.status, headers, content?.body);
}

/** Keeps the answer open and writes as fast as the client reads. */
async function writeStream(
  { message, response }: Exchange,
  headers: string[],
  stream: NonNullable<Answer['stream']>,
): Promise<void> {
  if (response.headersSent || response.destroyed) return;
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

function withAbsolute(links: readonly Link[], absolute: (href: string) => string): Link[] {
  return links.map((link) => ({ ...link, href: absolute(link.href) }));
}

function notAcceptable(offers: readonly string[]): Problem {
  return new Problem('not-acceptable', `this can be served as ${offers.join(', ')}`, {
    members: { available: offers },
  });
}

export function writeProblem(exchange: Exchange, problem: Problem): void {
  const { message, response } = exchange;
  const rendered = problemAnswer(problem, exchange.id, exchange.base, message.headers.accept);
  const headers = [...exchange.fields, 'X-Request-Id', exchange.id, ...rendered.headers];
  // A body that was not read to its end would be taken for the next request.
  if (!message.complete) headers.push('Connection', 'close');
  send(message, response, problem.status, headers, rendered.body);
}

function send(
  message: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: string[],
  body?: Buffer,
): void {
  if (response.headersSent || response.destroyed) return;
  const hasContent = status !== 204 && status !== 304;
  if (hasContent) headers.push('Content-Length', String(body?.length ?? 0));
  response.writeHead(status, headers);
  if (!hasContent || body === undefined || message.method === 'HEAD') response.end();
  else if (body.length > ONE_PIECE) response.end(body);
  else response.end(body.toString('latin1'), 'latin1');
}
