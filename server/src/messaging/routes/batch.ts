/** Reads a batch (A13): the parts of a multipart body, or the entries of an Atom feed, as drafts. */
import { AtomError, readAtomFeed } from '../../http/atom.ts';
import { readableType, readXml, unsupported } from '../../http/input.ts';
import { boundaryOf, createMultipartParser, MultipartError } from '../../http/multipart.ts';
import type { Request } from '../../http/request.ts';
import { Problem } from '../../problems.ts';
import type { Draft } from '../usecases/posting.ts';
import { transactionIn } from './common.ts';
import { draftFrom } from './draft.ts';

const MULTIPART = 'multipart/mixed';
const ATOM = 'application/atom+xml';
export const BATCH_TYPES = [MULTIPART, ATOM] as const;

const MAX_PART_HEADERS = 16 * 1024;

export function draftsOf(request: Request, maxBatch: number): readonly Draft[] {
  // Of the batch as a whole; what a part says of its own content goes with the message.
  const type = readableType(request, BATCH_TYPES, 'a batch');
  const drafts =
    type === MULTIPART ? fromMultipart(request, maxBatch) : type === ATOM ? fromAtom(request, maxBatch) : undefined;
  if (drafts === undefined) throw unsupported(type, BATCH_TYPES);
  if (drafts.length === 0) throw new Problem('invalid', 'a batch has at least one message');
  return drafts;
}

const tooMany = (maxBatch: number): Problem =>
  new Problem('too-large', `a batch has at most ${maxBatch} messages; nothing was stored`);

function badPart(index: number, detail: string, code: 'invalid' | 'bad-body' = 'invalid'): Problem {
  return new Problem(code, `message ${index} of the batch: ${detail}; nothing was stored`, {
    errors: [{ pointer: `/${index}`, detail }],
  });
}

/** Stored all or none, messages of a batch cannot be in transactions of their own; and dropping the wish would be a lie. */
const WHOLE_IN_TRANSACTION =
  'a batch is part of a transaction as a whole: give the Link of relation transaction with the request';

const namesTransaction = ([name, value]: readonly [string, string]): boolean =>
  name.toLowerCase() === 'link' && transactionIn(value) !== undefined;

function fromMultipart(request: Request, maxBatch: number): Draft[] {
  const boundary = boundaryOf(request.headers['content-type'] ?? '');
  if (boundary === undefined) throw new Problem('bad-header', 'Content-Type has no boundary that can be read');
  try {
    const parser = createMultipartParser(boundary, { parts: maxBatch, headerBytes: MAX_PART_HEADERS });
    parser.write(request.body);
    return parser.end().map(({ headers, body }, index) => {
      try {
        if (headers.some(namesTransaction)) throw new Problem('invalid', WHOLE_IN_TRANSACTION);
        return draftFrom(headers.flat(), body, request);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        throw badPart(index + 1, error.message, error.code === 'invalid' ? 'invalid' : 'bad-body');
      }
    });
  } catch (error) {
    if (!(error instanceof MultipartError)) throw error;
    if (error.kind === 'too-many-parts') throw tooMany(maxBatch);
    throw new Problem('bad-body', `${error.message}; nothing was stored`, {
      errors: [{ pointer: `/${error.part}`, detail: error.message }],
    });
  }
}

function fromAtom(request: Request, maxBatch: number): Draft[] {
  try {
    const entries = readAtomFeed(readXml(request.body, 'feed', BATCH_TYPES), { entries: maxBatch });
    return entries.map(({ contentType, body }) => ({ contentType, fields: [], body }));
  } catch (error) {
    if (!(error instanceof AtomError)) throw error;
    if (error.kind === 'too-many-entries') throw tooMany(maxBatch);
    if (error.entry === 0) throw new Problem('invalid', `${error.message}; nothing was stored`);
    throw badPart(error.entry, error.message.replace(/^entry \d+: /, ''));
  }
}
