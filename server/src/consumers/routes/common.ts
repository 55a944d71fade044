/** What the routes of this area share. */
import { type Answer, location } from '../../http/answer.ts';
import { checkConditions } from '../../http/conditions.ts';
import type { Document } from '../../http/document.ts';
import { type InputOptions, readFields } from '../../http/input.ts';
import { badCursor, type Page } from '../../http/paging.ts';
import { preferenceApplied } from '../../http/prefer.ts';
import type { Request } from '../../http/request.ts';
import type { Resource } from '../../http/resource.ts';
import { type Kind, uuid } from '../../kinds.ts';
import { paths } from '../../paths.ts';
import { Problem, type ProblemCode } from '../../problems.ts';
import { readReason } from '../fields.ts';
import type { Transition } from '../usecases/context.ts';

export const AREA = 'Consumers';
export const PRODUCES = ['application/xml', 'application/json'];

/** The id in the address; what is no UUID names nothing. */
export function idOf({ parameters: { uuid: word = '' } }: Request, code: ProblemCode): string {
  const id = uuid.read(word);
  if (id === undefined) throw new Problem(code, 'no such thing has this address');
  return id;
}

/** The id that a client means by an id or by the URI of a resource of this service; undefined when it is neither. */
export function idByReference(request: Request, resource: Resource, word: string): string | undefined {
  const id = uuid.read(word);
  if (id !== undefined) return id;
  const path = request.localPath(word)?.split(/[?#]/)[0];
  const [start = '', end = ''] = resource.template.split(/\{[^}]*\}/);
  return path?.startsWith(start) && path.endsWith(end)
    ? uuid.read(path.slice(start.length, path.length - end.length))
    : undefined;
}

/** `consumer=` in a query: an id, or a URI of which the route knows whether it is one of ours. */
export const reference: Kind<string> = {
  read: (text) => (text === '' || text.length > 2000 ? undefined : text),
  expected: 'an id or a URI',
  schema: { type: 'string' },
};

export function consumerOf(request: Request, word: string): string | undefined {
  return idByReference(request, paths.consumer, word);
}

/** The place at which a page of a list by number begins. */
export function numberOf({ key, backwards }: Page): number {
  if (key === undefined) return backwards ? Number.MAX_SAFE_INTEGER : -1;
  if (!/^\d{1,16}$/.test(key)) throw badCursor();
  return Number(key);
}

export function transitionOf(request: Request, input: InputOptions): Transition {
  const reason = readReason(readFields(request, input));
  return {
    change: reason === undefined ? {} : { reason },
    strict: request.prefer.handling === 'strict',
    check: (version) => checkConditions(request, version),
  };
}

/** Answers a change with what is there now. */
export function changeAnswer(
  request: Request,
  document: Document,
  { created, strict }: { created?: boolean; strict?: boolean } = {},
): Answer {
  const self = document.links.find(({ rel }) => rel === 'self')?.href ?? request.path;
  const told = preferenceApplied(strict ? ['handling=strict'] : []);
  const headers: (readonly [string, string])[] = [['Content-Location', self]];
  if (created) headers.push(location(self));
  if (told !== undefined) headers.push(['Preference-Applied', told]);
  return { status: created ? 201 : 200, headers, document };
}
