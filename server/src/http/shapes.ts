/** Parts that the shapes of all areas are made of. */
import type { Shape } from './operation.ts';

export const text = { type: 'string' };
export const time = { type: 'string', format: 'date-time' };
export const count = { type: 'integer', minimum: 0 };
export const links = { type: 'array', items: { $ref: '#/components/schemas/link' } };

/** A list whose items are documents of this shape, which an operation of its own must describe. */
export const listShape = (item: Shape, name = `${item.name}s`): Shape => ({
  name,
  schema: {
    type: 'object',
    required: ['items', 'links'],
    properties: { items: { type: 'array', items: { $ref: `#/components/schemas/${item.name}` } }, links },
  },
});
