/** HTTP of terminating many: a list of URIs or ids, and one outcome for each. */
import { location, NO_STORE } from '../../http/answer.ts';
import { readableType, unsupported } from '../../http/input.ts';
import { parseJson } from '../../http/json.ts';
import type { Operation, Route } from '../../http/operation.ts';
import { preferenceApplied } from '../../http/prefer.ts';
import type { Request } from '../../http/request.ts';
import { paths } from '../../paths.ts';
import { Problem } from '../../problems.ts';
import { type BulkKind, type BulkOrder, checkCount, readJsonIds, readUriList } from '../bulk.ts';
import type { ConsumerArea } from '../consumers.ts';
import { readReason } from '../fields.ts';
import { outcomesDocument, terminationDocument } from '../views/terminations.ts';
import { AREA, idByReference } from './common.ts';
import { manyShape, terminationShape } from './shapes.ts';

const ACCEPTED = ['text/uri-list', 'application/json'];
const RETRY_AFTER = ['Retry-After', '1'] as const;

const RESOURCES = { consumer: paths.consumer, entitlement: paths.entitlement } as const;

export function bulkRoutes({ bulk }: ConsumerArea, { maxBatch }: { maxBatch: number }): Route[] {
  function readOrder(request: Request, kind: BulkKind): BulkOrder {
    const { ids, rest } = readList(request);
    checkCount(ids.length, maxBatch);
    const reason = readReason(rest);
    const targets = ids.map((item) => {
      const id = idByReference(request, RESOURCES[kind], item.trim());
      return id === undefined ? { item } : { item, id };
    });
    const strict = request.prefer.handling === 'strict';
    return { kind, targets, strict, change: reason === undefined ? {} : { reason } };
  }

  const terminate = (kind: BulkKind): Operation => ({
    summary: `Terminate many ${kind}s, named by ids or URIs: one outcome for each`,
    accepts: ACCEPTED,
    input: manyShape,
    headers: { Prefer: 'respond-async: do not wait; handling=strict: 409 for those that are terminated already' },
    output: terminationShape,
    gives: { 200: ['Preference-Applied'], 202: ['Location', 'Retry-After', 'Preference-Applied'] },
    answers: { 200: 'What came of each, in order', 202: 'Stored and under way; Location names what to look at' },
    problems: ['bad-body', 'too-large', 'unsupported-media-type', 'invalid'],
    async handle(request) {
      const order = readOrder(request, kind);
      const strict = order.strict ? (['handling=strict'] as const) : [];
      if (request.prefer.respondAsync) {
        const job = await bulk.start(order);
        const document = terminationDocument(job, [], bulk.publicId(job));
        const applied = ['Preference-Applied', preferenceApplied(['respond-async', ...strict]) ?? ''] as const;
        const headers = [location(paths.termination.href({ termination: bulk.publicId(job) })), RETRY_AFTER, applied];
        return { status: 202, headers, document };
      }
      const told = preferenceApplied(strict);
      const headers = told === undefined ? [] : [['Preference-Applied', told] as const];
      return { status: 200, headers, document: outcomesDocument(kind, await bulk.run(order)) };
    },
  });

  const look: Operation = {
    summary: 'How far a bulk termination has come, and what came of each item',
    output: terminationShape,
    gives: { 200: ['ETag', 'Retry-After'] },
    answers: { 200: 'State, counts and outcomes; kept for a day after the end' },
    problems: ['not-found'],
    async handle({ parameters: { termination = '' } }) {
      const { job, outcomes } = await bulk.look(termination);
      const headers = job.finished === undefined ? [NO_STORE, RETRY_AFTER] : [NO_STORE];
      return { status: 200, headers, document: terminationDocument(job, outcomes, termination) };
    },
  };

  return [
    {
      resource: paths.terminateConsumers,
      title: 'Terminating many consumers',
      area: AREA,
      operations: { POST: terminate('consumer') },
    },
    {
      resource: paths.terminateEntitlements,
      title: 'Terminating many entitlements',
      area: AREA,
      operations: { POST: terminate('entitlement') },
    },
    { resource: paths.termination, title: 'A bulk termination', area: AREA, operations: { GET: look } },
  ];
}

function readList(request: Request): { ids: string[]; rest: Readonly<Record<string, unknown>> } {
  const type = readableType(request, ACCEPTED, 'a list');
  if (type !== 'text/uri-list' && type !== 'uri-list' && type !== 'application/json') throw unsupported(type, ACCEPTED);
  if (type === 'application/json') return readJsonIds(parseJson(request.body));
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(request.body);
  } catch {
    throw new Problem('bad-body', 'the body is not UTF-8');
  }
  return { ids: readUriList(text), rest: {} };
}
