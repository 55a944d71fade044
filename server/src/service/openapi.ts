/** The service description, OpenAPI 3.1, made from the routes the server serves. */
import type { Operation, Route } from '../http/operation.ts';
import { problems } from '../problems.ts';

type Json = Record<string, unknown>;

export function describeService(routes: readonly Route[], version: string, base: string): Json {
  const areas = [...new Set(routes.map((route) => route.area))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Waypost',
      version,
      summary: 'A link-driven message broker, transaction manager and consumer registry.',
      description: 'Clients know the root and follow links. The paths are shown for orientation; do not build them.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: base, description: 'The service as this client sees it' }],
    security: [],
    tags: areas.map((name) => ({ name, description: `${name} of Waypost` })),
    paths: Object.fromEntries(routes.map((route) => [route.resource.template, describeRoute(route)])),
    components: { schemas, responses: problemResponses() },
  };
}

function describeRoute(route: Route): Json {
  const operations: Json = {};
  for (const [method, operation] of Object.entries(route.operations)) {
    const described = describeOperation(route, method, operation);
    // OpenAPI 3.1 knows eight methods; others are told in an extension.
    if (method === 'LINK') operations['x-link'] = described;
    else operations[method.toLowerCase()] = described;
    if (method === 'GET')
      operations.head = {
        ...described,
        operationId: idOf(route, 'HEAD'),
        summary: `${operation.summary} (header only)`,
      };
  }
  return {
    summary: route.title,
    ...(route.resource.parameters.length === 0
      ? {}
      : {
          parameters: route.resource.parameters.map((name) => ({
            name,
            in: 'path',
            required: true,
            schema: { type: 'string', minLength: 1, maxLength: 250 },
          })),
        }),
    ...operations,
  };
}

const idOf = (route: Route, method: string): string => {
  const words = route.resource.template.split(/[^a-z]+/i).filter((word) => word !== '');
  return [method.toLowerCase(), ...(words.length === 0 ? ['root'] : words)].join('-');
};

function describeOperation(route: Route, method: string, operation: Operation): Json {
  const parameters = [
    ...Object.entries(operation.query ?? {}).map(([name, { kind, help }]) => ({
      name,
      in: 'query',
      description: help,
      schema: kind.schema,
    })),
    ...Object.entries(operation.headers ?? {}).map(([name, help]) => ({
      name,
      in: 'header',
      description: help,
      schema: { type: 'string' },
    })),
  ];
  return {
    operationId: idOf(route, method),
    summary: operation.summary,
    tags: [route.area],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.accepts === undefined ? {} : { requestBody: { content: contentOf(operation.accepts) } }),
    responses: describeAnswers(method, operation),
  };
}

function describeAnswers(method: string, operation: Operation): Json {
  const answers: Json = {};
  for (const [status, description] of Object.entries(operation.answers)) {
    const hasContent = status !== '204' && method !== 'LINK';
    const types = operation.produces ?? ['application/json', 'application/xml'];
    answers[status] = { description, ...(hasContent ? { content: contentOf(types) } : {}) };
  }
  for (const code of operation.problems ?? []) {
    const status = String(problems[code][0]);
    answers[status] ??= { $ref: `#/components/responses/${code}` };
  }
  answers.default = { $ref: '#/components/responses/problem' };
  return answers;
}

const contentOf = (types: readonly string[]): Json =>
  Object.fromEntries(
    types.map((type) =>
      type === '*'
        ? ['*/*', { schema: {} }]
        : [type, { schema: { type: type.includes('json') ? 'object' : 'string' } }],
    ),
  );

function problemResponses(): Json {
  const content = {
    'application/problem+json': { schema: { $ref: '#/components/schemas/problem' } },
    'application/problem+xml': { schema: { type: 'string' } },
  };
  const named = Object.entries(problems).map(([code, [, title, help]]) => [
    code,
    { description: `${title}. ${help}`, content },
  ]);
  return Object.fromEntries([...named, ['problem', { description: 'A problem (RFC 9457)', content }]]);
}

const schemas: Json = {
  problem: {
    type: 'object',
    required: ['type', 'title', 'status', 'detail', 'instance'],
    properties: {
      type: { type: 'string', format: 'uri', description: 'A stable URI with a page of help' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
      instance: { type: 'string', description: 'urn:uuid of the request id' },
      errors: { type: 'array', items: { type: 'object' } },
      links: { type: 'array', items: { $ref: '#/components/schemas/link' } },
    },
  },
  link: {
    type: 'object',
    required: ['rel', 'href'],
    properties: {
      rel: { type: 'string' },
      href: { type: 'string', format: 'uri' },
      method: { type: 'string' },
      type: { type: 'string' },
      title: { type: 'string' },
    },
  },
};
