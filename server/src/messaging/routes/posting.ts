/** HTTP of posting by links: single messages, batches, and both once-only. */
import { type Answer, location, NO_STORE } from '../../http/answer.ts';
import type { Link } from '../../http/links.ts';
import type { Operation, Route } from '../../http/operation.ts';
import { readQuery } from '../../http/parameters.ts';
import type { Request } from '../../http/request.ts';
import { paths } from '../../paths.ts';
import { Problem } from '../../problems.ts';
import { postingQuery } from '../message.ts';
import type { Messaging } from '../messaging.ts';
import type { DestinationKind } from '../settings.ts';
import { notYetDecided } from '../usecases/enlisting.ts';
import { messagePath } from '../views/links.ts';
import { BATCH_TYPES, draftsOf } from './batch.ts';
import { AREA, type MessagingRouteOptions, nameOf, transactionOf, withheldFromClients } from './common.ts';
import { draftOf, postOne } from './draft.ts';

const postingProblems = ['bad-query', 'too-large', 'destination-full', 'storage-full'] as const;

export function postingRoutes(messaging: Messaging, options: MessagingRouteOptions): Route[] {
  return (['queue', 'topic'] as const).flatMap((kind) => routesOf(kind, messaging, options));
}

function routesOf(kind: DestinationKind, messaging: Messaging, options: MessagingRouteOptions): Route[] {
  const { posting, once } = messaging;
  const pathOf = (name: string, id: number): string => messagePath(kind, name, messaging.publicId({ id, name: null }));

  /** A uri-list is read by clients as it is, so its addresses are absolute. */
  const uriList = ({ base }: Request, name: string, ids: readonly number[]): NonNullable<Answer['content']> => ({
    type: 'text/uri-list',
    body: Buffer.from(ids.map((id) => `${base}${pathOf(name, id)}\r\n`).join('')),
  });

  const createNextAt = (batch: boolean) => paths[batch ? 'createNextBatch' : 'createNext'][kind];
  const createNext = (batch: boolean, name: string, token: string) => ({
    rel: 'create-next',
    href: createNextAt(batch).href({ name, token }),
    method: 'POST',
  });

  /** The part of an answer that leads on to another link. */
  function leadingOn(batch: boolean, name: string, token: string): Pick<Answer, 'next' | 'offers'> {
    const next = createNext(batch, name, token);
    return { next, offers: { href: next.href, resource: createNextAt(batch), parameters: { name, token } } };
  }
  const onceLinks = { message: once.of(kind, false), batch: once.of(kind, true) };

  const postMessage: Operation = {
    summary: `Post a message to the ${kind}`,
    query: postingQuery,
    accepts: ['*'],
    produces: [],
    gives: { 201: ['Location'] },
    answers: { 201: 'Stored; Location names the message' },
    problems: postingProblems,
    handle: (request) => postOne(messaging, kind, request, 201),
  };

  const postBatch: Operation = {
    summary: `Post several messages to the ${kind}, all or none`,
    query: postingQuery,
    accepts: BATCH_TYPES,
    produces: ['text/uri-list'],
    answers: { 201: 'Stored; the addresses of the messages in order' },
    problems: [...postingProblems, 'unsupported-media-type', 'bad-body', 'invalid'],
    async handle(request) {
      const name = nameOf(request);
      const wishes = readQuery(request.query, postingQuery);
      const ids = await posting.post({
        kind,
        name,
        drafts: draftsOf(request, options.maxBatch),
        wishes,
        transaction: transactionOf(request),
      });
      return { status: 201, content: uriList(request, name, ids) };
    },
  };

  function issue(batch: boolean): Operation {
    const links = onceLinks[batch ? 'batch' : 'message'];
    return {
      summary: `Obtain a one-off link for posting ${batch ? 'a batch' : 'a message'} at most once`,
      produces: [],
      gives: { 200: ['Link'] },
      answers: { 200: 'The Link field has a create-next link' },
      problems: ['bad-request'],
      async handle(request) {
        if (request.body.length > 0) {
          throw new Problem(
            'bad-request',
            `post here with an empty body to obtain a create-next link (in the Link field), then post the ${batch ? 'batch' : 'message'} to that`,
          );
        }
        const name = nameOf(request);
        await posting.check(kind, name);
        return { status: 200, ...leadingOn(batch, name, links.issue(name)) };
      },
    };
  }

  /** A link that was used, or is over, takes nothing more, and says so to whoever asks for its methods. */
  const withheldWhenDone =
    (batch: boolean): NonNullable<Route['withheld']> =>
    async ({ name = '', token = '' }) => {
      const look = await onceLinks[batch ? 'batch' : 'message'].look(name, token);
      return look?.state === 'used' || look?.state === 'over' ? ['POST'] : [];
    };

  function oneOff(batch: boolean): Record<'GET' | 'POST', Operation> {
    const own = onceLinks[batch ? 'batch' : 'message'];
    const tokenOf = ({ parameters: { token = '' } }: Request): string => token;
    const over = (next: Link): Problem =>
      new Problem('link-over', 'this link was not used in its time', { links: [next] });
    const forged = (): Problem => new Problem('not-found', 'this is no create-next link of this service');
    return {
      POST: {
        summary: `Post ${batch ? 'a batch' : 'a message'} that is stored at most once`,
        query: postingQuery,
        accepts: batch ? BATCH_TYPES : ['*'],
        produces: batch ? ['text/uri-list'] : [],
        gives: { 200: batch ? ['Link'] : ['Link', 'Content-Location'] },
        answers: { 200: 'Stored; the Link field has the next create-next link' },
        problems: ['not-found', 'link-used', 'link-over', 'destination-full', 'too-large', 'storage-full'],
        async handle(request) {
          const name = nameOf(request);
          const wishes = readQuery(request.query, postingQuery);
          const drafts = () => (batch ? draftsOf(request, options.maxBatch) : [draftOf(request)]);
          const outcome = await own.use(name, tokenOf(request), drafts, {
            wishes,
            transaction: transactionOf(request),
          });
          if (outcome === undefined) throw forged();
          if (outcome.state === 'used') {
            throw new Problem('link-used', `a ${batch ? 'batch' : 'message'} was posted to this link before`, {
              headers: { Allow: 'GET, HEAD, OPTIONS' },
              links: [createNext(batch, name, outcome.next)],
            });
          }
          if (outcome.state === 'over') throw over(createNext(batch, name, outcome.next));
          const { ids } = outcome;
          const on = leadingOn(batch, name, outcome.next);
          if (batch) return { status: 200, ...on, content: uriList(request, name, ids) };
          return { status: 200, ...on, headers: [['Content-Location', pathOf(name, ids[0] ?? 0)]] };
        },
      },
      GET: {
        summary: 'What became of the link',
        produces: batch ? ['text/uri-list'] : [],
        gives: batch ? { 204: ['Link'] } : { 204: ['Link'], 303: ['Location'] },
        answers: batch
          ? { 200: 'Used; the addresses of its messages', 204: 'Not used yet' }
          : { 303: 'Used; Location names its message', 204: 'Not used yet' },
        problems: ['not-found', 'link-over', 'conflict'],
        async handle(request) {
          const name = nameOf(request);
          const found = await own.look(name, tokenOf(request));
          if (found === undefined) throw forged();
          if (found.state === 'unused')
            return { status: 204, ...leadingOn(batch, name, tokenOf(request)), headers: [NO_STORE] };
          if (found.state === 'held') throw notYetDecided();
          if (found.state === 'over') throw over(createNext(batch, name, own.issue(name)));
          if (batch) return { status: 200, content: uriList(request, name, found.ids), headers: [NO_STORE] };
          return { status: 303, headers: [location(pathOf(name, found.ids[0] ?? 0)), NO_STORE] };
        },
      },
    };
  }

  const of = `of a ${kind}`;
  const withheld = withheldFromClients(kind, 'POST');
  return [
    {
      resource: paths.messages[kind],
      title: `The messages ${of}`,
      area: AREA,
      operations: { POST: postMessage },
      withheld,
    },
    {
      resource: paths.batches[kind],
      title: `The batches ${of}`,
      area: AREA,
      operations: { POST: postBatch },
      withheld,
    },
    {
      resource: paths.postOnce[kind],
      title: `Once-only posting ${of}`,
      area: AREA,
      operations: { POST: issue(false) },
      withheld,
    },
    {
      resource: paths.createNext[kind],
      title: `A create-next link ${of}`,
      area: AREA,
      operations: oneOff(false),
      withheld: withheldWhenDone(false),
    },
    {
      resource: paths.batchOnce[kind],
      title: `Once-only batches ${of}`,
      area: AREA,
      operations: { POST: issue(true) },
      withheld,
    },
    {
      resource: paths.createNextBatch[kind],
      title: `A create-next link for a batch ${of}`,
      area: AREA,
      operations: oneOff(true),
      withheld: withheldWhenDone(true),
    },
  ];
}
