/** HTTP of the transaction manager. */
import { type Answer, location, noContent } from '../http/answer.ts';
import { acceptedTypes, readableType, readFields, unsupported } from '../http/input.ts';
import { readLinkField } from '../http/links.ts';
import type { Operation, Route } from '../http/operation.ts';
import type { Outbound } from '../http/outbound/outbound.ts';
import { pageLinks, pagingQuery, readPage, sliceOf } from '../http/paging.ts';
import { readQuery } from '../http/parameters.ts';
import { preferenceApplied } from '../http/prefer.ts';
import type { Request } from '../http/request.ts';
import { oneOf } from '../kinds.ts';
import { textOf } from '../operator/routes.ts';
import { paths } from '../paths.ts';
import { Problem } from '../problems.ts';
import { readUriList, toRegistration, URI_LIST_TYPES } from './input.ts';
import { isFinal, TRANSACTION_STATES } from './protocol.ts';
import {
  endShape,
  newTransactionShape,
  participantListShape,
  participantShape,
  resolutionShape,
  transactionListShape,
  transactionShape,
} from './shapes.routes.ts';
import { DEFAULT_TIMEOUT } from './transaction.ts';
import type { Registration, ResolvedOutcome, Transactions, TransactionView } from './transactions.ts';
import {
  participantDocument,
  TRANSACTION_TYPE,
  TRANSACTION_TYPES,
  transactionDocument,
  transactionItem,
} from './views.ts';

const AREA = 'Transactions';
/** A commit blocks no longer than this. */
const LONGEST_WAIT = 60;

const listQuery = {
  ...pagingQuery,
  state: { kind: oneOf(...TRANSACTION_STATES), help: 'only transactions in this state' },
} as const;

export interface TransactionRouteOptions {
  readonly outbound: Outbound;
  /** Whether a path is that of a participant of this service. */
  readonly isLocalParticipant: (path: string) => boolean;
}

export function transactionRoutes(transactions: Transactions, options: TransactionRouteOptions): Route[] {
  const { wordOf } = transactions;
  const idOf = ({ parameters: { transaction = '' } }: Request): number => transactions.idOf(transaction);
  const participantOf = ({ parameters: { participant = '' } }: Request): number => transactions.idOf(participant);
  const input = { element: 'transaction', xmlTypes: [TRANSACTION_TYPE] };
  const pathOf = (id: number): string => paths.transaction.href({ transaction: wordOf(id) });
  const document = ({ transaction, participants }: TransactionView) =>
    transactionDocument(transaction, participants, wordOf);

  const list: Operation = {
    summary: 'The transactions, newest first',
    query: listQuery,
    output: transactionListShape,
    answers: { 200: 'A page of them' },
    async handle(request) {
      const { state } = readQuery(request.query, listQuery);
      const page = readPage(request);
      const slice = sliceOf(page, await transactions.list(page, state));
      const links = pageLinks(request, slice, ({ id }) => String(id));
      const items = slice.items.map((transaction) => transactionItem(transaction, wordOf));
      return { status: 200, document: { name: 'transactions', fields: {}, links, items } };
    },
  };

  const create: Operation = {
    summary: 'Begin a transaction',
    accepts: acceptedTypes(input),
    input: newTransactionShape,
    produces: TRANSACTION_TYPES,
    output: transactionShape,
    gives: { 200: ['Location', 'ETag'] },
    answers: { 200: 'Begun; Location names it' },
    problems: ['bad-body', 'invalid', 'unsupported-media-type'],
    async handle(request) {
      const { timeout = DEFAULT_TIMEOUT } = readFields(request, input);
      const created = await transactions.create(String(timeout));
      return { status: 200, headers: [location(pathOf(created.transaction.id))], document: document(created) };
    },
  };

  const read: Operation = {
    summary: 'A transaction with its participants',
    produces: TRANSACTION_TYPES,
    output: transactionShape,
    gives: { 200: ['ETag'] },
    answers: { 200: 'The transaction' },
    problems: ['not-found', 'transaction-gone'],
    handle: async (request) => ({ status: 200, document: document(await transactions.get(idOf(request))) }),
  };

  const end: Operation = {
    summary: 'Commit it or roll it back: post the state that is wanted',
    accepts: acceptedTypes(input),
    input: endShape,
    produces: TRANSACTION_TYPES,
    output: transactionShape,
    gives: { 200: ['ETag'], 202: ['Location', 'Retry-After', 'Preference-Applied', 'ETag'] },
    headers: { Prefer: 'respond-async, or wait=N seconds: 202 when it has not ended by then' },
    answers: { 200: 'It ended as was wanted', 202: 'It goes on; look at it until its state is final' },
    problems: [
      'no-participants',
      'transaction-rolled-back',
      'transaction-committed',
      'transaction-heuristic',
      'invalid',
    ],
    async handle(request) {
      const { state } = readFields(request, input);
      if (state !== 'committed' && state !== 'rolled-back') {
        const detail = 'must be committed or rolled-back, as in <transaction state="committed"/> or state=committed';
        throw new Problem('invalid', `state ${detail}`, { errors: [{ pointer: '/state', detail }] });
      }
      const { respondAsync, wait = LONGEST_WAIT } = request.prefer;
      const patience = respondAsync ? 0 : Math.min(wait, LONGEST_WAIT) * 1000;
      const id = idOf(request);
      const view =
        state === 'committed'
          ? await transactions.commit(id, patience)
          : await transactions.rollBack(id, 'a client asked for it', patience);
      return endAnswer(request, state, view);
    },
  };

  function endAnswer({ prefer }: Request, wanted: 'committed' | 'rolled-back', view: TransactionView): Answer {
    const { id, state } = view.transaction;
    if (state === wanted) return { status: 200, document: document(view) };
    const failure = failureOf(view, wanted, pathOf(id));
    if (failure !== undefined) throw failure;
    const applied = preferenceApplied([
      ...(prefer.respondAsync ? (['respond-async'] as const) : []),
      ...(prefer.wait !== undefined && !prefer.respondAsync ? ([`wait=${prefer.wait}`] as const) : []),
    ]);
    return {
      status: 202,
      headers: [
        location(pathOf(id)),
        ['Retry-After', '1'],
        ...(applied === undefined ? [] : [['Preference-Applied', applied] as const]),
      ],
      document: document(view),
    };
  }

  const listParticipants: Operation = {
    summary: 'The participants of a transaction',
    output: participantListShape,
    answers: { 200: 'All of them' },
    problems: ['not-found', 'transaction-gone'],
    async handle(request) {
      const { transaction, participants } = await transactions.get(idOf(request));
      const links = [
        { rel: 'self', href: request.path },
        { rel: 'transaction', href: pathOf(transaction.id), type: TRANSACTION_TYPE },
      ];
      const items = participants.map((participant) => participantDocument(transaction, participant, wordOf));
      return { status: 200, document: { name: 'participants', fields: {}, links, items } };
    },
  };

  async function register(request: Request, given: readonly { uri: string; kind: string | null }[]) {
    const registrations: Registration[] = given.map(({ uri, kind }) =>
      toRegistration(uri, kind, (each) => request.localPath(each)),
    );
    for (const { uri } of registrations) {
      const problem = uri.startsWith('/') ? notLocal(uri) : await options.outbound.check(uri);
      if (problem !== undefined) throw problem;
    }
    return transactions.register(idOf(request), registrations);
  }

  function notLocal(path: string): Problem | undefined {
    if (options.isLocalParticipant(path)) return undefined;
    return new Problem('invalid', `${path} is not the transaction-state of anything in this service`);
  }

  const registerByPost: Operation = {
    summary: 'Register participants: the URIs of their transaction-state',
    accepts: URI_LIST_TYPES,
    produces: [],
    gives: { 200: ['Location'], 201: ['Location'] },
    answers: { 200: 'They were registered before', 201: 'Registered; Location names the first' },
    problems: ['commit-begun', 'transaction-gone', 'not-found', 'invalid', 'unsupported-media-type', 'conflict'],
    async handle(request) {
      const type = readableType(request, URI_LIST_TYPES, 'a list');
      if (!(URI_LIST_TYPES as readonly (string | undefined)[]).includes(type)) throw unsupported(type, URI_LIST_TYPES);
      const registered = await register(
        request,
        readUriList(request.body).map((uri) => ({ uri, kind: null })),
      );
      const [first] = registered;
      const href = paths.participant.href({ transaction: wordOf(idOf(request)), participant: wordOf(first?.id ?? 0) });
      return { status: registered.some(({ isNew }) => isNew) ? 201 : 200, headers: [location(href)] };
    },
  };

  const registerByLink: Operation = {
    summary: 'Register participants: Link fields whose relation is the kind of participant',
    headers: { Link: 'the URI of a transaction-state; rel names its kind, type is application/tx-state+xml' },
    produces: [],
    answers: { 204: 'Registered' },
    problems: ['commit-begun', 'transaction-gone', 'not-found', 'invalid', 'bad-header', 'conflict'],
    async handle(request) {
      const { link } = request.headers;
      const links = typeof link === 'string' ? readLinkField(link) : [];
      if (links.length === 0)
        throw new Problem('bad-header', 'a Link field with the URI of a transaction-state is needed');
      await register(
        request,
        links.map(({ href, rel }) => ({ uri: href, kind: rel === '' ? null : rel })),
      );
      return noContent();
    },
  };

  const readParticipant: Operation = {
    summary: 'A participant of a transaction',
    output: participantShape,
    answers: { 200: 'The participant' },
    problems: ['not-found', 'transaction-gone'],
    async handle(request) {
      const { transaction, participants } = await transactions.get(idOf(request));
      const found = participants.find(({ id }) => id === participantOf(request));
      if (found === undefined) throw new Problem('not-found', 'the transaction has no such participant');
      return { status: 200, document: participantDocument(transaction, found, wordOf) };
    },
  };

  const resolveInput = { element: 'resolution' };
  const resolve: Operation = {
    summary: 'Record what was done by hand with a participant that cannot be reached',
    accepts: acceptedTypes(resolveInput),
    input: resolutionShape,
    produces: TRANSACTION_TYPES,
    output: transactionShape,
    gives: { 200: ['ETag'] },
    answers: { 200: 'Recorded, with who and why; the decision itself stays' },
    problems: ['not-found', 'conflict', 'invalid'],
    async handle(request) {
      const fields = readFields(request, resolveInput);
      const { outcome } = fields;
      if (outcome !== 'committed' && outcome !== 'rolled-back' && outcome !== 'unknown') {
        const detail = 'must be committed, rolled-back or unknown: what was done by hand';
        throw new Problem('invalid', `outcome ${detail}`, { errors: [{ pointer: '/outcome', detail }] });
      }
      const [by, why] = [textOf(fields.by, 'by'), textOf(fields.why, 'why')];
      if (by === undefined || why === undefined) {
        throw new Problem('invalid', 'by and why are needed: who did what, and for what reason', {
          errors: [{ pointer: by === undefined ? '/by' : '/why', detail: 'must be given' }],
        });
      }
      const done = await transactions.resolve(
        idOf(request),
        participantOf(request),
        outcome satisfies ResolvedOutcome,
        by,
        why,
      );
      return { status: 200, document: document(done) };
    },
  };

  const retryNow: Operation = {
    summary: 'Ask participants that have not answered again now',
    answers: { 204: 'They are being asked' },
    problems: ['not-found', 'transaction-gone'],
    async handle(request) {
      await transactions.retryNow(idOf(request));
      return noContent();
    },
  };

  return [
    {
      resource: paths.transactionManager,
      title: 'The transaction manager',
      area: AREA,
      operations: { GET: list, POST: create },
    },
    { resource: paths.transaction, title: 'A transaction', area: AREA, operations: { GET: read, POST: end } },
    {
      resource: paths.participants,
      title: 'The participants of a transaction',
      area: AREA,
      operations: { GET: listParticipants, POST: registerByPost, LINK: registerByLink },
    },
    {
      resource: paths.participant,
      title: 'A participant of a transaction',
      area: AREA,
      operations: { GET: readParticipant },
    },
    {
      resource: paths.resolveParticipant,
      title: 'Resolving a participant by hand',
      area: AREA,
      operations: { POST: resolve },
    },
    {
      resource: paths.retryTransaction,
      title: 'Retrying a transaction now',
      area: AREA,
      operations: { POST: retryNow },
    },
  ];
}

/** How it ended otherwise than was wanted; undefined while it may still end so. */
function failureOf({ transaction, participants }: TransactionView, wanted: string, href: string): Problem | undefined {
  const { state, reason } = transaction;
  const refusing = participants.find((each) => each.state === 'refused' || each.state.startsWith('heuristic'));
  const members = {
    transaction: {
      href,
      state,
      reason: reason ?? undefined,
      participant: refusing && { uri: refusing.uri, state: refusing.state, error: refusing.lastError ?? undefined },
    },
  };
  const extras = { members, links: [{ rel: 'transaction', href }] };
  if (state.startsWith('heuristic'))
    return new Problem('transaction-heuristic', `the transaction ended as ${state}`, extras);
  if (wanted === 'committed' && (state === 'rolled-back' || state === 'rolling-back')) {
    return new Problem('transaction-rolled-back', reason ?? 'the transaction was rolled back', extras);
  }
  if (wanted === 'rolled-back' && (state === 'committed' || state === 'committing')) {
    return new Problem('transaction-committed', 'the commit was decided first', extras);
  }
  return isFinal(state) ? new Problem('conflict', `the transaction is ${state}`, extras) : undefined;
}
