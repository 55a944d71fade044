/** What the bodies of subscribers hold, for the description of the service. */
import type { Shape } from '../../http/operation.ts';
import { RELATIONS, stateNames } from '../subscriber.ts';

const text = { type: 'string' };
const time = { type: 'string', format: 'date-time' };
const count = { type: 'integer', minimum: 0 };
const links = { type: 'array', items: { $ref: '#/components/schemas/link' } };
const rel = { type: 'string', enum: RELATIONS, description: 'how messages are handed over' };
const href = { type: 'string', description: 'where they go: an http or https URL' };

export const registrationShape: Shape = {
  name: 'new-subscriber',
  schema: {
    type: 'object',
    required: ['rel', 'href'],
    properties: {
      rel,
      href,
      secret: { ...text, description: 'signs deliveries; whsec_ and 16 to 128 bytes in base64' },
    },
  },
  example: { rel: 'post-message-once', href: 'https://billing.example/orders/once' },
  xml: '<link xmlns="http://www.w3.org/2005/Atom" rel="post-message-once" href="https://billing.example/orders/once"/>',
};

const attempt = {
  type: 'object',
  required: ['at', 'milliseconds'],
  properties: {
    at: time,
    milliseconds: { ...count, description: 'how long it took' },
    status: { type: 'integer', description: 'of the answer, if there was one' },
    error: { ...text, description: 'what went wrong, if something did' },
    message: { ...text, description: 'the path of the message, the first one of a batch' },
    messages: { ...count, description: 'of a batch' },
  },
};

const subscriber = {
  type: 'object',
  required: ['id', 'rel', 'href', 'state', 'signed', 'created', 'counters', 'links'],
  properties: {
    id: text,
    rel,
    href,
    state: { type: 'string', enum: Object.values(stateNames) },
    reason: { ...text, description: 'why Waypost disabled it' },
    signed: { type: 'boolean', description: 'whether it has a secret' },
    created: time,
    tries: { ...count, description: 'failed tries of the present message' },
    'next-try': time,
    'failing-since': time,
    counters: {
      type: 'object',
      required: ['forwarded', 'failed', 'dead'],
      properties: {
        forwarded: { ...count, description: 'messages the target has' },
        failed: { ...count, description: 'attempts that failed' },
        dead: { ...count, description: 'messages moved to the dead-letter queue' },
      },
    },
    attempts: { type: 'array', items: attempt, description: 'the last 20, oldest first' },
    links,
  },
};

export const subscriberShape: Shape = { name: 'subscriber', schema: subscriber };

export const subscriberListShape: Shape = {
  name: 'subscribers',
  schema: {
    type: 'object',
    required: ['title', 'items', 'links'],
    properties: { title: text, items: { type: 'array', items: subscriber }, links },
  },
};
