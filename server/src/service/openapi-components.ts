/** The parts of the service description that do not come from the routes: media types, fields, problems. */
import { type AnswerField, answerFields } from '../http/answer-fields.ts';
import { type ProblemCode, problems } from '../problems.ts';

export type Json = Record<string, unknown>;

export const refTo = (kind: 'schemas' | 'responses' | 'headers', name: string): Json => ({
  $ref: `#/components/${kind}/${name}`,
});

/** What the variable parts of addresses are. Others are described by their name alone. */
const pathParameters: Readonly<Record<string, Json>> = {
  name: {
    description: 'The name of the destination',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._~-]{1,250}$' },
    example: 'orders',
  },
  'message-id': {
    description: 'The id of the message: the one that Waypost gave it, or one that its poster chose',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._~-]{1,250}$' },
    example: 'order-4711',
  },
  token: { description: 'Opaque; part of a link', schema: { type: 'string' } },
  position: { description: 'Opaque; part of a link', schema: { type: 'string' } },
  code: {
    description: 'The last part of the type of a problem',
    schema: { type: 'string', enum: Object.keys(problems) },
    example: 'bad-name',
  },
};

export function pathParameter(name: string): Json {
  const known = pathParameters[name] ?? { schema: { type: 'string', minLength: 1, maxLength: 250 } };
  return { name, in: 'path', required: true, ...known };
}

const MULTIPART_EXAMPLE = [
  '--cut',
  'Content-Type: text/plain',
  '',
  'one',
  '--cut',
  'Content-Type: application/json',
  'Correlation-Id: 2',
  '',
  '{"n":2}',
  '--cut--',
  '',
].join('\r\n');

const ATOM_EXAMPLE = `<feed xmlns="http://www.w3.org/2005/Atom">
  <entry><content>one</content></entry>
  <entry><content type="application/json">eyJuIjoyfQ==</content></entry>
</feed>`;

/** Content whose form its media type tells, with an example. */
const knownContent: Readonly<Record<string, Json>> = {
  '*/*': { schema: {}, example: 'any content at all' },
  'multipart/mixed': {
    schema: { type: 'string', description: 'Each part is a message with header fields of its own' },
    example: MULTIPART_EXAMPLE,
  },
  'application/atom+xml': {
    schema: { type: 'string', description: 'The content of each entry is a message' },
    example: ATOM_EXAMPLE,
  },
  'text/uri-list': {
    schema: { type: 'string', description: 'One address on each line' },
    example: 'http://localhost:8080/queues/orders/messages/101hj7hdvq7\r\n',
  },
  'text/event-stream': {
    schema: { type: 'string', description: 'One event for each message; its id is the position behind it' },
    example:
      'id: 101hj7hdvq7\ndata: {"href":"http://localhost:8080/topics/news/messages/1cs7xrxxasr","type":"text/plain","data":"hello"}\n\n',
  },
  'application/vnd.oai.openapi+json': { schema: { type: 'object', description: 'OpenAPI 3.1' } },
};

/** What a media type holds when nothing more is known about it. */
export function contentOfType(type: string): Json {
  return knownContent[type] ?? { schema: { type: type.includes('json') ? 'object' : 'string' } };
}

export const xmlContent = (example: string): Json => ({
  schema: { type: 'string', description: 'The same fields as in JSON, as attributes and elements' },
  example,
});

export function describeHeaders(): Json {
  return Object.fromEntries(
    Object.entries(answerFields).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  );
}

export const headersOf = (names: readonly AnswerField[]): Json =>
  Object.fromEntries(names.map((name) => [name, refTo('headers', name)]));

/** Fields that go with a problem, beside those of every answer. */
const problemFields: Readonly<Partial<Record<ProblemCode, readonly AnswerField[]>>> = {
  'link-used': ['Allow', 'Link'],
  'link-over': ['Link'],
  'unsupported-media-type': ['Accept-Post'],
  'store-unavailable': ['Retry-After'],
  busy: ['Retry-After'],
  'storage-full': ['Retry-After'],
};

const problemContent = {
  'application/problem+json': { schema: refTo('schemas', 'problem') },
  'application/problem+xml': { schema: { type: 'string', description: 'The same members as elements (RFC 9457)' } },
};

export function problemResponse(code: ProblemCode): Json {
  const [, title, help] = problems[code];
  const headers = headersOf(['X-Request-Id', ...(problemFields[code] ?? [])]);
  return { description: `${title}. ${help}`, headers, content: problemContent };
}

export const anyProblem: Json = {
  description: 'A problem (RFC 9457); its type is the address of a page of help',
  headers: headersOf(['X-Request-Id']),
  content: problemContent,
};

export const baseSchemas: Json = {
  problem: {
    type: 'object',
    required: ['type', 'title', 'status', 'detail', 'instance'],
    properties: {
      type: { type: 'string', format: 'uri', description: 'A stable URI with a page of help' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string', description: 'What is wrong with this request' },
      instance: { type: 'string', description: 'urn:uuid of the request id' },
      errors: {
        type: 'array',
        items: {
          type: 'object',
          required: ['detail'],
          properties: {
            pointer: { type: 'string', description: 'a JSON pointer into the body' },
            parameter: { type: 'string', description: 'a query parameter' },
            header: { type: 'string', description: 'a header field' },
            detail: { type: 'string' },
          },
        },
      },
      links: { type: 'array', items: refTo('schemas', 'link') },
    },
  },
  link: {
    type: 'object',
    required: ['rel', 'href'],
    properties: {
      rel: { type: 'string', description: 'the relation, by which clients choose' },
      href: { type: 'string', format: 'uri' },
      method: { type: 'string', description: 'to use; GET when it is left out' },
      type: { type: 'string', description: 'the media type to expect' },
      title: { type: 'string' },
    },
  },
};
