/** What the service's own documents hold, for its description. */
import type { Shape } from '../http/operation.ts';

const links = { type: 'array', items: { $ref: '#/components/schemas/link' } };
const text = { type: 'string' };

export const rootShape: Shape = {
  name: 'service',
  schema: { type: 'object', required: ['name', 'version', 'links'], properties: { name: text, version: text, links } },
};

export const statusShape: Shape = {
  name: 'status',
  schema: {
    type: 'object',
    required: ['state', 'version', 'engine', 'uptime', 'store', 'links'],
    properties: {
      state: { type: 'string', enum: ['ready'] },
      version: text,
      engine: { type: 'string', enum: ['sqlite', 'postgresql'] },
      uptime: { type: 'integer', minimum: 0, description: 'seconds' },
      store: {
        type: 'object',
        required: ['answers', 'milliseconds'],
        properties: {
          answers: { type: 'boolean' },
          milliseconds: { type: 'integer', minimum: 0, description: 'how long the store took to answer' },
        },
      },
      links,
    },
  },
};

export const problemTypeShape: Shape = {
  name: 'problem-type',
  schema: {
    type: 'object',
    required: ['code', 'status', 'title', 'help', 'links'],
    properties: { code: text, status: { type: 'integer' }, title: text, help: text, links },
  },
};
