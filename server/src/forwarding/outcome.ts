/** What the answer of a target means (A20). Pure: the same answer always means the same. */
import { LinkError, parseLinks } from '../http/links.ts';
import type { OutboundAnswer, OutboundError } from '../http/outbound/outbound.ts';
import { readRetryAfter } from './retry.ts';

/**
 * `delivered`: the target has the message. `link`: it gave a create-next link. `renew`: the link it gave before is over
 * and was never used. `retry`: later. `refuse`: it does not want this message, ever. `gone`: it wants nothing any more.
 */
export type Outcome =
  | { readonly kind: 'delivered'; readonly next: string | null }
  | { readonly kind: 'link'; readonly next: string }
  | { readonly kind: 'renew'; readonly next: string | null; readonly error: string }
  | { readonly kind: 'retry'; readonly error: string; readonly after?: number | undefined }
  | { readonly kind: 'refuse'; readonly error: string }
  | { readonly kind: 'gone'; readonly error: string };

/** `message`: a POST to the registered href. `ask`: the empty POST that asks for a link. `link`: a POST to such a link. */
export type Step = 'message' | 'ask' | 'link';

const RETRIED = new Set([408, 425, 429]);

export interface AnswerContext {
  readonly step: Step;
  /** The URL that was called, against which links are resolved. */
  readonly url: string;
  /** Whether the message may have been posted to the link before. */
  readonly tried: boolean;
  readonly now: number;
}

export function outcomeOf(answer: Pick<OutboundAnswer, 'status' | 'headers'>, context: AnswerContext): Outcome {
  const { status, headers } = answer;
  const { step, url, tried, now } = context;
  const error = `the target answered ${status}`;
  if (status >= 200 && status < 300) {
    const next = createNextOf(headers.link, url);
    if (step !== 'ask') return { kind: 'delivered', next };
    if (next !== null) return { kind: 'link', next };
    return { kind: 'retry', error: `${error} without a create-next link` };
  }
  if (step === 'link' && status === 405) {
    const next = createNextOf(headers.link, url);
    // The seed's 405 says that this link has its message. One without a new link is any server's word for "no POST here".
    return next !== null || tried ? { kind: 'delivered', next } : { kind: 'refuse', error };
  }
  if (status === 410) {
    if (step !== 'link') return { kind: 'gone', error };
    return { kind: 'renew', next: createNextOf(headers.link, url), error };
  }
  if (status >= 500 || RETRIED.has(status)) {
    return { kind: 'retry', error, after: readRetryAfter(headers['retry-after'], now) };
  }
  return { kind: 'refuse', error: status >= 300 && status < 400 ? `${error}; redirects are not followed` : error };
}

export function outcomeOfError(error: OutboundError): Outcome {
  const text = `${error.kind}: ${error.message}`;
  // A message that cannot be written as HTTP will not be better next time.
  return error.kind === 'bad-request' ? { kind: 'refuse', error: text } : { kind: 'retry', error: text };
}

/** The create-next link of an answer, absolute; null when there is none that can be read. */
export function createNextOf(field: string | undefined, url: string): string | null {
  if (field === undefined) return null;
  try {
    const found = parseLinks(field).find(({ rels }) => rels.includes('create-next'));
    return found !== undefined && URL.canParse(found.href, url) ? new URL(found.href, url).href : null;
  } catch (error) {
    if (error instanceof LinkError) return null;
    throw error;
  }
}
