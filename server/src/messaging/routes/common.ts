/** What the routes of messaging share. */
import { type Answer, NO_STORE, noContent, VARY_ACCEPT } from '../../http/answer.ts';
import { type Link, readLinkField, resolveTarget } from '../../http/links.ts';
import { prefersNamed } from '../../http/negotiation.ts';
import type { Method, Route } from '../../http/operation.ts';
import type { Request } from '../../http/request.ts';
import { paths } from '../../paths.ts';
import { Problem } from '../../problems.ts';
import type { StoredMessage } from '../../store/store.ts';
import type { Destination } from '../destination.ts';
import type { MessageState } from '../message.ts';
import type { Messaging } from '../messaging.ts';
import { checkName } from '../names.ts';
import type { DestinationKind } from '../settings.ts';
import { isSystemTopic } from '../system-topics.ts';
import { ATOM_TYPE, deliveredFeed } from '../views/feed.ts';
import { messagePath } from '../views/links.ts';
import { deliveredMessage, deliveredMessages, type MessageView } from '../views/messages.ts';

export const AREA = 'Messaging';

export interface MessagingRouteOptions {
  /** Seconds. */
  readonly maxWait: number;
  /** Messages in a batch and in an answer. */
  readonly maxBatch: number;
}

export const nameOf = ({ parameters }: Request): string => checkName(parameters.name as string, 'destination name');

/** For a route to the ways of changing a destination, of which clients have fewer for topics that Waypost writes to. */
export const withheldFromClients =
  (kind: DestinationKind, ...methods: readonly Method[]): NonNullable<Route['withheld']> =>
  ({ name = '' }) =>
    isSystemTopic(kind, name) ? methods : [];

export const messageIdOf = ({ parameters }: Request): string =>
  checkName(parameters.message_id as string, 'message id');

/** Relations are compared without regard to case. Most fields name none, and are not parsed. */
const MAY_NAME_ONE = /transaction/i;
export const transactionIn = (link: string): string | undefined =>
  MAY_NAME_ONE.test(link) ? readLinkField(link).find(({ rels }) => rels.includes('transaction'))?.href : undefined;

/** The transaction that a request is to be part of: the path of a Link of that relation. Others' are refused later. */
export function transactionOf(request: Request): string | undefined {
  const { link } = request.headers;
  const named = typeof link === 'string' ? transactionIn(link) : undefined;
  if (named === undefined) return undefined;
  const href = resolveTarget(named, request.base + request.path);
  return request.localPath(href) ?? href;
}

/** Who takes or clears sends nothing: a body was meant for another link, and would be lost without a word. */
export function refuseContent(request: Request, what: string): void {
  if (request.body.length === 0) return;
  const detail = `${what} here, by a request without a body; nothing was done`;
  throw new Problem('bad-request', `${detail}. To post a message, follow post-message, which is linked`, {
    links: [{ rel: 'post-message', href: paths.messages.queue.href({ name: nameOf(request) }) }],
  });
}

/** For what is done at once: to do it outside of the transaction that was named would be no kindness. */
export function refuseTransaction(request: Request, what: string): void {
  if (transactionOf(request) === undefined) return;
  const detail = `${what} cannot be part of a transaction: messages are posted and taken in one; nothing was changed`;
  throw new Problem('invalid', detail, { errors: [{ header: 'Link', detail }] });
}

/** What is shown of a message that belongs to a destination. */
export function viewOf(
  { publicId, deliveryWord, reading }: Messaging,
  destination: Destination,
  message: StoredMessage,
  { state, deliveries, token }: { state: MessageState; deliveries?: number | undefined; token?: number | undefined },
): MessageView {
  const id = publicId(message);
  return {
    message,
    destination,
    publicId: id,
    path: messagePath(destination.kind, destination.name, id),
    state,
    deliveries,
    delivery: token === undefined ? undefined : deliveryWord(destination, id, token),
    position: message.position === null ? undefined : reading.positionOf(destination, message),
  };
}

interface AnswerOptions {
  readonly several: boolean;
  readonly links: () => readonly Link[];
  readonly extra?: readonly Link[];
  /** How long it might have waited, in seconds. */
  readonly wait?: number;
}

const MULTIPART = 'multipart/mixed';

/** What several messages are answered as. */
export const SEVERAL_TYPES = [MULTIPART, ATOM_TYPE] as const;
/** What others call `max`. */
export const SEVERAL_ELSEWHERE = ['limit', 'count', 'maxnumberofmessages', 'maxmessages'];
export const SEVERAL_HELP = `up to this many messages, as ${MULTIPART} or, if Accept prefers it by name, as ${ATOM_TYPE}`;

/** Which of them it is for this client. An Accept that allows neither refuses nothing: what was taken must arrive. */
export const severalType = ({ headers: { accept } }: Request): (typeof SEVERAL_TYPES)[number] =>
  prefersNamed(accept, `${ATOM_TYPE};type=feed`, MULTIPART) ? ATOM_TYPE : MULTIPART;

/** One message as itself, several (when `max` was given) as parts, none as 204 with the links to try again. */
export function answerWith(
  request: Request,
  views: readonly MessageView[],
  { several, links, extra = [], wait }: AnswerOptions,
): Answer {
  const [first] = views;
  const answer =
    first === undefined
      ? noContent({ links: links(), headers: [NO_STORE] })
      : several
        ? answerOfSeveral(request, views, [...links(), ...extra])
        : deliveredMessage(first, extra);
  return withPreference(request, wait, several ? chosenByAccept(answer) : answer);
}

function answerOfSeveral(request: Request, views: readonly MessageView[], links: readonly Link[]): Answer {
  const answer = severalType(request) === ATOM_TYPE ? deliveredFeed : deliveredMessages;
  return answer(views, request.base, links);
}

/** An answer that another Accept might have made another one. */
export const chosenByAccept = (answer: Answer): Answer => ({
  ...answer,
  headers: [...(answer.headers ?? []), VARY_ACCEPT],
});

/** A wait that was asked for as a preference, and not overruled by Accept-Wait, was honoured as far as it is allowed. */
function withPreference({ headers, prefer }: Request, wait: number | undefined, answer: Answer): Answer {
  const isAsked = headers.prefer !== undefined && headers['accept-wait'] === undefined && prefer.wait !== undefined;
  if (!isAsked || wait === undefined) return answer;
  return { ...answer, headers: [...(answer.headers ?? []), ['Preference-Applied', `wait=${wait}`]] };
}
