/** HTTP of entitlements. */
import type { Document } from '../../http/document.ts';
import type { InputOptions } from '../../http/input.ts';
import type { Route } from '../../http/operation.ts';
import type { Request } from '../../http/request.ts';
import { paths } from '../../paths.ts';
import { Problem } from '../../problems.ts';
import type { ConsumerArea } from '../consumers.ts';
import { type Entitlement, readEntitlementUpdate, readNewEntitlement } from '../entitlement.ts';
import type { Input } from '../fields.ts';
import { entitlementDocument } from '../views/entitlements.ts';
import { AREA, consumerOf, idOf } from './common.ts';
import { creation, livingRoutes } from './lifecycle.ts';
import { listOperation } from './listing.ts';
import { entitlementShape, entitlementUpdateShape, newEntitlementShape } from './shapes.ts';

const INPUT: InputOptions = { element: 'entitlement' };

function wrongConsumer(detail: string): Problem {
  return new Problem('invalid', `consumer ${detail}`, { errors: [{ pointer: '/consumer', detail }] });
}

/** The consumer that a body names, by id or URI; undefined when it names none. */
function consumerIn(request: Request, { consumer }: Input): string | undefined {
  if (consumer === undefined) return undefined;
  const id = typeof consumer === 'string' ? consumerOf(request, consumer.trim()) : undefined;
  if (id === undefined) throw wrongConsumer('must be the id or the URI of a consumer of this service');
  return id;
}

export function entitlementRoutes(area: ConsumerArea): Route[] {
  const { entitlements } = area;
  const document = (entitlement: Entitlement): Document => entitlementDocument(entitlement, area.now());

  const granting = (summary: string, consumerFor: (request: Request, named: string | undefined) => string) =>
    creation({
      summary,
      input: INPUT,
      shapes: [newEntitlementShape, entitlementShape],
      problems: ['already-entitled', 'consumer-terminated', 'entitlement-exists', 'unknown-consumer'],
      async make(request, fields) {
        const consumer = consumerFor(request, consumerIn(request, fields));
        return document(await entitlements.create(consumer, readNewEntitlement(fields)));
      },
    });

  const create = granting('Entitle a consumer, named by id or URI, to a product', (_request, named) => {
    if (named === undefined) throw wrongConsumer('must be given');
    return named;
  });

  const createBelow = granting('Entitle the consumer to a product', (request, named) => {
    const consumer = idOf(request, 'unknown-consumer');
    if (named !== undefined && named !== consumer) throw wrongConsumer(`must be ${consumer} or left out`);
    return consumer;
  });

  const living = livingRoutes({
    name: 'entitlement',
    article: 'An',
    unknown: 'unknown-entitlement',
    shape: entitlementShape,
    update: {
      resource: paths.entitlement,
      summary: 'Change quantity, start, end or the name of the product; what is left out stays as it is',
      shape: entitlementUpdateShape,
      problems: ['already-entitled'],
    },
    terminate: {
      resource: paths.terminateEntitlement,
      summary: 'Terminate an entitlement; it stays so when its consumer is reinstated',
    },
    reinstate: {
      resource: paths.reinstateEntitlement,
      summary: 'Undo the termination of an entitlement',
      problems: ['already-entitled', 'consumer-terminated'],
    },
    usecases: entitlements,
    change: (request, id, fields, check) =>
      entitlements.update(id, readEntitlementUpdate(fields, consumerIn(request, fields)), check),
    document,
  });

  return [
    {
      resource: paths.consumerEntitlements,
      title: 'The entitlements of a consumer',
      area: AREA,
      operations: { GET: listOperation(area, true), POST: createBelow },
    },
    {
      resource: paths.entitlements,
      title: 'The entitlements',
      area: AREA,
      operations: { GET: listOperation(area, false), POST: create },
    },
    ...living,
  ];
}
