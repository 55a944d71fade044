/** What the bodies of this area hold, for the description of the service. */
import type { AnswerField } from '../../http/answer-fields.ts';
import type { Shape } from '../../http/operation.ts';
import { count, links, text, time } from '../../http/shapes.ts';
import { LONGEST_KEY, LONGEST_NAME } from '../consumer.ts';
import { ENTITLEMENT_STATES } from '../entitlement.ts';

const uuid = { type: 'string', format: 'uuid' };
const reason = { type: 'string', maxLength: 1000 };
const terminated = { at: time, by: text, reason };

const consumerFields = {
  name: { type: 'string', minLength: 1, maxLength: LONGEST_NAME },
  'external-key': { type: 'string', maxLength: LONGEST_KEY, description: 'unique; empty takes it away' },
  metadata: {
    type: 'object',
    description: 'up to 50 texts under names that can be names of XML elements',
    additionalProperties: { type: 'string', maxLength: 1000 },
  },
};

export const newConsumerShape: Shape = {
  name: 'new-consumer',
  schema: { type: 'object', required: ['name'], properties: { id: uuid, ...consumerFields } },
  example: { name: 'Ada Lovelace', metadata: { plan: 'gold' } },
};

export const consumerShape: Shape = {
  name: 'consumer',
  schema: {
    type: 'object',
    required: ['id', 'name', 'state', 'entitlement-count', 'created', 'updated', 'links'],
    properties: {
      id: uuid,
      ...consumerFields,
      state: { type: 'string', enum: ['active', 'terminated'] },
      'entitlement-count': { ...count, description: 'entitlements that are not terminated themselves' },
      created: time,
      updated: time,
      terminated: { type: 'object', required: ['at'], properties: terminated },
      links,
    },
  },
};

/** An update takes the whole document or a part of it. */
export const consumerUpdateShape: Shape = {
  name: 'consumer-update',
  schema: { type: 'object', properties: { id: uuid, ...consumerFields } },
  example: { name: 'Ada King' },
};

const product = {
  oneOf: [
    { type: 'string', minLength: 1, maxLength: 255 },
    { type: 'object', required: ['id'], properties: { id: text, name: text } },
  ],
};
const period = {
  quantity: { type: 'integer', minimum: 1, maximum: 1_000_000_000 },
  start: { ...time, description: 'the moment of creation unless given' },
  end: time,
};

export const newEntitlementShape: Shape = {
  name: 'new-entitlement',
  schema: {
    type: 'object',
    required: ['product'],
    properties: { id: uuid, consumer: { ...text, description: 'its id or URI' }, product, ...period },
  },
  example: { product: 'atlas', quantity: 5, end: '2030-01-01T00:00:00Z' },
};

export const entitlementUpdateShape: Shape = {
  name: 'entitlement-update',
  schema: { type: 'object', properties: { product, ...period } },
  example: { quantity: 10 },
};

export const entitlementShape: Shape = {
  name: 'entitlement',
  schema: {
    type: 'object',
    required: ['id', 'consumer', 'product', 'quantity', 'start', 'state', 'created', 'updated', 'links'],
    properties: {
      id: uuid,
      consumer: uuid,
      product: { type: 'object', required: ['id'], properties: { id: text, name: text } },
      ...period,
      state: { type: 'string', enum: ENTITLEMENT_STATES },
      created: time,
      updated: time,
      terminated: {
        type: 'object',
        required: ['at', 'cause'],
        properties: { ...terminated, cause: { type: 'string', enum: ['consumer', 'entitlement'] } },
      },
      links,
    },
  },
};

export const reasonShape: Shape = {
  name: 'reason',
  schema: { type: 'object', properties: { reason } },
  example: { reason: 'moved away' },
};

export const manyShape: Shape = {
  name: 'many',
  schema: {
    oneOf: [
      { type: 'array', items: text },
      { type: 'object', required: ['ids'], properties: { ids: { type: 'array', items: text }, reason } },
    ],
  },
  example: { ids: ['01a1dd20-3d4c-7440-8d05-b0398131f411'], reason: 'closed' },
};

export const terminationShape: Shape = {
  name: 'bulk-termination',
  schema: {
    type: 'object',
    required: ['state', 'total', 'done', 'terminated', 'unchanged', 'unknown', 'refused', 'items', 'links'],
    properties: {
      state: { type: 'string', enum: ['running', 'finished'] },
      total: count,
      done: count,
      terminated: count,
      unchanged: count,
      unknown: count,
      refused: count,
      created: time,
      finished: time,
      items: {
        type: 'array',
        items: {
          type: 'object',
          required: ['item', 'status', 'outcome', 'links'],
          properties: {
            item: { ...text, description: 'as it was sent' },
            status: { type: 'integer', enum: [200, 404, 409, 422] },
            outcome: { type: 'string', enum: ['terminated', 'unchanged', 'unknown', 'refused'] },
            detail: text,
            links,
          },
        },
      },
      links,
    },
  },
};

const CHANGED: readonly AnswerField[] = ['Link', 'ETag', 'Content-Location', 'Preference-Applied'];
export const CREATED_FIELDS = { 201: ['Location', ...CHANGED] } as const;
export const CHANGED_FIELDS = { 200: CHANGED } as const;
