/** What the bodies of messaging hold, for the description of the service. */
import type { AnswerField } from '../../http/answer-fields.ts';
import type { Shape } from '../../http/operation.ts';
import { COUNT_LIMIT } from '../destination.ts';
import { type DestinationKind, settingsOf } from '../settings.ts';
import { LONGEST_DELAY, LONGEST_LEASE } from '../verdict.ts';

const time = { type: 'string', format: 'date-time' };
const count = { type: 'integer', minimum: 0, maximum: COUNT_LIMIT };
const links = { type: 'array', items: { $ref: '#/components/schemas/link' } };
const name = {
  type: 'string',
  pattern: '^[A-Za-z0-9._~-]{1,250}$',
  description: 'not "." or ".."',
};

/** Fields of an answer that is a message. */
export const MESSAGE_FIELDS: readonly AnswerField[] = [
  'Link',
  'Message-Id',
  'Message-State',
  'Message-Posted',
  'Delivery-Count',
  'Message-Dead-Reason',
];
/** Of a message that is handed out by an alias of its address. */
export const DELIVERY_FIELDS: readonly AnswerField[] = ['Content-Location', ...MESSAGE_FIELDS];

function settingsSchema(kind: DestinationKind): Record<string, object> {
  const described = settingsOf(kind).map(([setting, { kind: value, help }]) => [
    setting,
    { ...value.schema, description: help },
  ]);
  return Object.fromEntries(described);
}

const settingsExample = {
  queue: { lease: 60, 'max-deliveries': 5 },
  topic: { retention: 86_400 },
} as const;

/** The body of PUT: settings. */
export const settingsShape = (kind: DestinationKind): Shape => ({
  name: `${kind}-settings`,
  schema: { type: 'object', properties: { name, ...settingsSchema(kind) } },
  example: settingsExample[kind],
});

/** The body of POST to the collection: a name, and settings. */
export const newDestinationShape = (kind: DestinationKind): Shape => ({
  name: `new-${kind}`,
  schema: { type: 'object', required: ['name'], properties: { name, ...settingsSchema(kind) } },
  example: { name: kind === 'queue' ? 'orders' : 'news', ...settingsExample[kind] },
});

const counts = {
  queue: { available: count, delayed: count, leased: count, dead: count },
  topic: { retained: count },
} as const;

export function destinationShape(kind: DestinationKind): Shape {
  const atLeast = { type: 'boolean', description: `true: counting stopped at ${COUNT_LIMIT}` };
  return {
    name: kind,
    schema: {
      type: 'object',
      required: ['name', 'retention', 'created', 'counts', 'links'],
      properties: {
        name,
        ...settingsSchema(kind),
        created: time,
        counts: {
          type: 'object',
          required: Object.keys(counts[kind]),
          properties: { ...counts[kind], 'at-least': atLeast },
        },
        links,
      },
    },
  };
}

export const destinationListShape = (kind: DestinationKind): Shape => ({
  name: `${kind}s`,
  schema: {
    type: 'object',
    required: ['items', 'links'],
    properties: {
      items: {
        type: 'array',
        items: {
          type: 'object',
          required: ['name', 'created', 'links'],
          properties: { name, created: time, links },
        },
      },
      links,
    },
  },
});

/** How many messages something was done with. */
const many = { type: 'integer', minimum: 0, description: 'how many messages' };

export const purgedShape: Shape = {
  name: 'purged',
  schema: { type: 'object', required: ['purged', 'links'], properties: { purged: many, links } },
};

export const redrivenShape: Shape = {
  name: 'redriven',
  schema: {
    type: 'object',
    required: ['redriven', 'links'],
    properties: {
      redriven: many,
      'stopped-by': { const: 'destination-full', description: 'why some stayed, where some did' },
      full: { type: 'array', items: { type: 'string' }, description: 'queues that had no room for more' },
      links,
    },
  },
};

export const verdictShape: Shape = {
  name: 'verdict',
  schema: {
    type: 'object',
    description: 'either acknowledge or extend',
    properties: {
      acknowledge: { type: 'boolean', description: 'true: done; false: put the message back' },
      delay: {
        type: 'number',
        minimum: 0,
        maximum: LONGEST_DELAY,
        description: 'with acknowledge=false: seconds until it is available again',
      },
      extend: {
        type: 'number',
        exclusiveMinimum: 0,
        maximum: LONGEST_LEASE,
        description: 'seconds from now at which the lease is over',
      },
    },
  },
  example: { acknowledge: true },
  xml: '<acknowledgement><acknowledge>true</acknowledge></acknowledgement>',
};

export const acknowledgementShape: Shape = {
  name: 'acknowledgement',
  schema: {
    type: 'object',
    required: ['state', 'deliveries', 'newest', 'links'],
    properties: {
      state: { type: 'string', enum: ['available', 'delayed', 'leased', 'acknowledged', 'dead', 'expired'] },
      deliveries: { type: 'integer', minimum: 0 },
      newest: { type: 'boolean', description: 'false: a newer delivery has overtaken this one' },
      'leased-until': time,
      links,
    },
  },
};
