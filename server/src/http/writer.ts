/** Writes answers. The only place that turns what a handler gave into status, fields and content. */
import { Problem } from '../problems.ts';
import type { Answer } from './answer.ts';
import { checkShown, isNotModified } from './conditions.ts';
import { offersOf, represent } from './document.ts';
import { formatLinks, formatOwnLink } from './links.ts';
import { chooseMediaType } from './negotiation.ts';
import { parsePrefer } from './prefer.ts';
import { problemAnswer } from './problem-answer.ts';
import { type FieldLines, NO_LINES, withField } from './protocol/answer-head.ts';
import type { Exchange } from './protocol/exchange.ts';
import type { RequestHead } from './protocol/head.ts';

/** What the writer knows of a call, even when its request could not be read. */
export interface Reply {
  readonly id: string;
  /** '' until it is known. */
  base: string;
  readonly exchange: Exchange;
  /** Fields for every answer of this exchange (CORS). */
  fields: readonly string[];
}

/** Fields whose value is a URI reference and may hold a path of ours. */
const URI_FIELDS = new Set(['Location', 'Content-Location']);

/** Writes at once; gives a promise for a stream alone, which resolves when the stream is over. */
export function writeAnswer(reply: Reply, answer: Answer): Promise<void> | undefined {
  const { base, exchange } = reply;
  const { head } = exchange;
  const absolute = (href: string): string => (href.startsWith('/') ? base + href : href);
  const headers = [...reply.fields, 'X-Request-Id', reply.id];
  for (const [name, value] of answer.headers ?? []) headers.push(name, URI_FIELDS.has(name) ? absolute(value) : value);

  const links =
    answer.document === undefined ? (answer.links ?? []) : [...answer.document.links, ...(answer.links ?? [])];
  let lines = NO_LINES;
  if (links.length > 0) lines = withField(lines, 'Link', formatLinks(links, base));
  if (answer.next !== undefined) lines = withField(lines, 'Link', formatOwnLink(answer.next, base));
  if (answer.templates !== undefined && answer.templates.length > 0) {
    const templates = answer.templates.map(({ rel, href }) => `"${absolute(href)}"; rel="${rel}"`);
    headers.push('Link-Template', templates.join(', '));
  }

  if (answer.stream !== undefined) return writeStream(exchange, headers, lines, answer.stream);
  const isSafe = head.method === 'GET' || head.method === 'HEAD';
  let content = answer.content;
  let { etag } = answer;
  if (answer.document !== undefined || answer.negotiated) {
    headers.push('Vary', 'Accept');
    const offers = answer.document === undefined ? [content?.type ?? ''] : offersOf(answer.document);
    // What was done cannot be undone by a 406: the answer to a write then comes in the first type there is.
    const type = chooseMediaType(head.headers.accept, offers) ?? (isSafe ? undefined : offers[0]);
    if (type === undefined) {
      writeProblem(reply, notAcceptable(offers));
      return undefined;
    }
    if (answer.document !== undefined) {
      const found = represent(answer.document, type, absolute);
      content = found;
      etag = found.etag;
    }
  }
  if (answer.document !== undefined && !isSafe && prefersMinimal(head)) {
    // The fields say what was done; whoever wants the document follows Location or its own address.
    headers.push('Preference-Applied', 'return=minimal');
    content = undefined;
  }
  if (content?.type != null) headers.push('Content-Type', content.type);
  if (etag !== undefined) headers.push('ETag', etag);
  let { status } = answer;
  if (etag !== undefined && isSafe && status === 200) {
    checkShown(head, etag);
    if (isNotModified(head, etag)) status = 304;
  }
  exchange.answer(status, headers, content?.body, lines);
  return undefined;
}

/** Keeps the answer open and writes as fast as the client reads. */
async function writeStream(
  exchange: Exchange,
  headers: readonly string[],
  lines: FieldLines,
  { type, run }: NonNullable<Answer['stream']>,
): Promise<void> {
  const open = exchange.open(200, [...headers, 'Content-Type', type], lines);
  try {
    if (exchange.head.method !== 'HEAD') await run(open);
    open.end();
  } catch (error) {
    open.abort();
    throw error;
  }
}

function prefersMinimal({ headers: { prefer } }: RequestHead): boolean {
  return prefer !== undefined && parsePrefer(prefer).return === 'minimal';
}

function notAcceptable(offers: readonly string[]): Problem {
  return new Problem('not-acceptable', `this can be served as ${offers.join(', ')}`, {
    members: { available: offers },
  });
}

export function writeProblem({ id, base, exchange, fields }: Reply, problem: Problem): void {
  const { headers, body } = problemAnswer(problem, id, base, exchange.head.headers.accept);
  exchange.answer(problem.status, [...fields, 'X-Request-Id', id, ...headers], body);
}
