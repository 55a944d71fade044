/** HTTP of clearing a queue: purge, and redrive of dead letters. */
import type { Answer } from '../../http/answer.ts';
import type { Document } from '../../http/document.ts';
import type { Operation, Route } from '../../http/operation.ts';
import { readQuery } from '../../http/parameters.ts';
import { integer } from '../../kinds.ts';
import { paths } from '../../paths.ts';
import { Problem } from '../../problems.ts';
import type { Messaging } from '../messaging.ts';
import { destinationPath } from '../views/links.ts';
import { AREA, nameOf, refuseContent, refuseTransaction } from './common.ts';
import { purgedShape, redrivenShape } from './shapes.ts';

const redriveQuery = {
  max: { kind: integer(1, Number.MAX_SAFE_INTEGER), help: 'at most this many messages (default all)' },
} as const;

/** The most full queues that one answer names. */
const MOST_NAMED = 20;

function nothingFits(full: readonly string[]): Problem {
  const named = full.slice(0, MOST_NAMED);
  const detail = `nothing was sent back: ${named.join(', ')} had reached max-length or max-bytes`;
  return new Problem('destination-full', detail, {
    links: named.map((name) => ({ rel: 'about', href: destinationPath('queue', name) })),
  });
}

function allOrNone(): Problem {
  const detail = 'is not known here: purge drops every message; nothing was dropped';
  return new Problem('bad-query', `max ${detail}`, { errors: [{ parameter: 'max', detail }] });
}

export function clearingRoutes({ destinations, clearing }: Messaging): Route[] {
  const tell = (queue: string, element: string, fields: Document['fields']): Answer => ({
    status: 200,
    document: { name: element, fields, links: [{ rel: 'about', href: destinationPath('queue', queue) }] },
  });

  const purge: Operation = {
    summary: 'Drop every message of the queue, also those that are delayed or leased',
    output: purgedShape,
    answers: { 200: 'How many were dropped' },
    problems: ['unknown-destination', 'bad-request', 'bad-query', 'invalid'],
    async handle(request) {
      refuseTransaction(request, 'purge');
      refuseContent(request, 'a queue is emptied');
      if (request.query.has('max')) throw allOrNone();
      const queue = await destinations.look('queue', nameOf(request));
      return tell(queue.name, 'purge', { purged: await clearing.purge(queue) });
    },
  };

  const redrive: Operation = {
    summary: 'Send dead letters back to the queues they came from',
    query: redriveQuery,
    output: redrivenShape,
    answers: { 200: 'How many were sent back, and which queues had no room for more' },
    problems: ['unknown-destination', 'bad-request', 'conflict', 'destination-full', 'invalid'],
    async handle(request) {
      refuseTransaction(request, 'redrive');
      refuseContent(request, 'dead letters are sent back, with ?max= at most so many,');
      const { max = Number.MAX_SAFE_INTEGER } = readQuery(request.query, redriveQuery);
      const queue = await destinations.look('queue', nameOf(request));
      if (!queue.isDeadLetter) throw new Problem('conflict', `${queue.name} is not a dead-letter queue`);
      const { moved, full } = await clearing.redrive(queue, max);
      if (moved === 0 && full.length > 0) throw nothingFits(full);
      const left = full.length === 0 ? {} : { 'stopped-by': 'destination-full', full: full.slice(0, MOST_NAMED) };
      return tell(queue.name, 'redrive', { redriven: moved, ...left });
    },
  };

  return [
    { resource: paths.purge, title: 'Purging a queue', area: AREA, operations: { POST: purge } },
    { resource: paths.redrive, title: 'Redriving a dead-letter queue', area: AREA, operations: { POST: redrive } },
  ];
}
