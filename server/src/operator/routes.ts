/** HTTP of operator notices. */
import { acceptedTypes, readFields } from '../http/input.ts';
import type { Operation, Route } from '../http/operation.ts';
import { pageLinks, pagingQuery, readPage, sliceOf } from '../http/paging.ts';
import { readQuery } from '../http/parameters.ts';
import type { Request } from '../http/request.ts';
import { oneOf } from '../kinds.ts';
import { paths } from '../paths.ts';
import { Problem } from '../problems.ts';
import type { Operator } from './operator.ts';
import { MAX_TEXT, noticeAcknowledgementShape, noticeListShape, noticeShape } from './shapes.routes.ts';
import { noticeDocument } from './views.ts';

const AREA = 'Operator';

const listQuery = {
  ...pagingQuery,
  status: { kind: oneOf('open', 'all'), help: 'open ones only (default) or all' },
} as const;

export function operatorRoutes(operator: Operator): Route[] {
  const wordOf = ({ parameters: { notice = '' } }: Request): string => notice;
  const input = { element: 'acknowledgement' };

  const list: Operation = {
    summary: 'What a person should look at, newest first',
    query: listQuery,
    output: noticeListShape,
    answers: { 200: 'The notices' },
    async handle(request) {
      const { status = 'open' } = readQuery(request.query, listQuery);
      const page = readPage(request);
      const slice = sliceOf(page, await operator.list(page, status === 'all'));
      const items = slice.items.map((notice) => noticeDocument(notice, operator.publicId(notice)));
      const links = [
        ...pageLinks(request, slice, ({ id }) => String(id)),
        { rel: 'events', href: paths.destination.topic.href({ name: 'operator-notices' }) },
      ];
      return { status: 200, document: { name: 'operator-notices', fields: {}, links, items } };
    },
  };

  const read: Operation = {
    summary: 'A notice, with the links by which to act',
    output: noticeShape,
    gives: { 200: ['ETag'] },
    answers: { 200: 'The notice' },
    problems: ['not-found'],
    async handle(request) {
      const notice = await operator.get(wordOf(request));
      return { status: 200, document: noticeDocument(notice, wordOf(request)) };
    },
  };

  const acknowledge: Operation = {
    summary: 'Say that someone has looked at it; who and why are recorded where given',
    accepts: acceptedTypes(input),
    input: noticeAcknowledgementShape,
    output: noticeShape,
    gives: { 200: ['ETag'] },
    answers: { 200: 'The notice; one that was acknowledged before stays as it was' },
    problems: ['not-found', 'invalid'],
    async handle(request) {
      const fields = readFields(request, input);
      const notice = await operator.acknowledge(wordOf(request), textOf(fields.by, 'by'), textOf(fields.why, 'why'));
      return { status: 200, document: noticeDocument(notice, wordOf(request)) };
    },
  };

  return [
    { resource: paths.operatorNotices, title: 'The operator notices', area: AREA, operations: { GET: list } },
    { resource: paths.operatorNotice, title: 'An operator notice', area: AREA, operations: { GET: read } },
    {
      resource: paths.acknowledgeNotice,
      title: 'Acknowledging a notice',
      area: AREA,
      operations: { POST: acknowledge },
    },
  ];
}

/** A short text a person wrote. */
export function textOf(value: unknown, name: string): string | undefined {
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string' && value.length <= MAX_TEXT && !value.includes('\0')) return value;
  const detail = `must be a text of at most ${MAX_TEXT} characters`;
  throw new Problem('invalid', `${name} ${detail}`, { errors: [{ pointer: `/${name}`, detail }] });
}
