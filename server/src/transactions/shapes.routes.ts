/** What the bodies of the transaction manager hold, for the description of the service. */
import type { Shape } from '../http/operation.ts';
import { count, links, listShape, text, time } from '../http/shapes.ts';
import { PARTICIPANT_STATES, TRANSACTION_STATES } from './protocol.ts';
import { DEFAULT_TIMEOUT } from './transaction.ts';

const timeout = {
  type: ['string', 'integer'],
  description: 'whole milliseconds, or an ISO 8601 duration such as PT30S',
  default: DEFAULT_TIMEOUT,
};
const OUTCOMES = ['committed', 'rolled-back', 'unknown'];

export const newTransactionShape: Shape = {
  name: 'new-transaction',
  schema: { type: 'object', properties: { timeout } },
  example: { timeout: 'PT30S' },
  xml: '<transaction timeout="PT30S"/>',
};

export const endShape: Shape = {
  name: 'transaction-end',
  schema: {
    type: 'object',
    required: ['state'],
    properties: { state: { type: 'string', enum: ['committed', 'rolled-back'], description: 'the state wanted' } },
  },
  example: { state: 'committed' },
  xml: '<transaction state="committed"/>',
};

export const participantShape: Shape = {
  name: 'participant',
  schema: {
    type: 'object',
    required: ['tries', 'links'],
    properties: {
      kind: { ...text, description: 'what it is, when it was registered with that' },
      state: { type: 'string', enum: PARTICIPANT_STATES, description: 'none is named until it has voted' },
      tries: { ...count, description: 'how often it was asked in the present phase' },
      'next-try': time,
      'last-error': { ...text, description: 'what went wrong when it was asked last' },
      resolved: {
        type: 'object',
        description: 'what an operator did by hand',
        required: ['outcome', 'at'],
        properties: { outcome: { type: 'string', enum: OUTCOMES }, by: text, why: text, at: time },
      },
      links,
    },
  },
};

export const participantListShape = listShape(participantShape);

const summary = {
  timeout: { ...text, description: 'as it was given' },
  state: { type: 'string', enum: TRANSACTION_STATES },
  created: time,
  expires: { ...time, description: 'when it is rolled back unless it is decided' },
  decided: time,
  finished: time,
  reason: { ...text, description: 'why it is rolled back' },
  links,
};
const SUMMARY_REQUIRED = ['timeout', 'state', 'created', 'links'];

export const transactionShape: Shape = {
  name: 'transaction',
  schema: {
    type: 'object',
    required: [...SUMMARY_REQUIRED, 'items'],
    properties: {
      ...summary,
      items: { type: 'array', items: { $ref: `#/components/schemas/${participantShape.name}` } },
    },
  },
};

/** Items of the list do without their participants. */
export const transactionListShape: Shape = {
  name: 'transactions',
  schema: {
    type: 'object',
    required: ['items', 'links'],
    properties: {
      items: { type: 'array', items: { type: 'object', required: SUMMARY_REQUIRED, properties: summary } },
      links,
    },
  },
};

export const resolutionShape: Shape = {
  name: 'resolution',
  schema: {
    type: 'object',
    required: ['outcome', 'by', 'why'],
    properties: {
      outcome: { type: 'string', enum: OUTCOMES, description: 'what was done by hand' },
      by: { type: 'string', minLength: 1, maxLength: 1000 },
      why: { type: 'string', minLength: 1, maxLength: 1000 },
    },
  },
  example: { outcome: 'rolled-back', by: 'ada', why: 'the shop is closed for good' },
  xml: '<resolution outcome="rolled-back" by="ada" why="the shop is closed for good"/>',
};
