/** What the bodies of operator notices hold, for the description of the service. */
import type { Shape } from '../http/operation.ts';
import { links, listShape, text, time } from '../http/shapes.ts';

/** A person's own words are this long at most. */
export const MAX_TEXT = 1000;

const person = { by: { type: 'string', maxLength: MAX_TEXT }, why: { type: 'string', maxLength: MAX_TEXT } };

export const noticeShape: Shape = {
  name: 'operator-notice',
  schema: {
    type: 'object',
    required: ['id', 'kind', 'title', 'detail', 'created', 'links'],
    properties: {
      id: text,
      kind: { ...text, description: 'such as transaction.stuck or subscriber.disabled' },
      title: text,
      detail: text,
      created: time,
      acknowledged: { type: 'object', required: ['at'], properties: { at: time, ...person } },
      links,
    },
  },
};

export const noticeListShape = listShape(noticeShape);

export const noticeAcknowledgementShape: Shape = {
  name: 'notice-acknowledgement',
  schema: { type: 'object', properties: person },
  example: { by: 'ada', why: 'the shop is open again' },
  xml: '<acknowledgement by="ada" why="the shop is open again"/>',
};
