/** The service description, OpenAPI 3.1, made from the routes the server serves. */
import type { Operation, Route, Shape } from '../http/operation.ts';
import { paths } from '../paths.ts';
import { type ProblemCode, problems } from '../problems.ts';
import {
  anyProblem,
  baseSchemas,
  contentOfType,
  describeHeaders,
  headersOf,
  type Json,
  pathParameter,
  problemResponse,
  refTo,
  xmlContent,
} from './openapi-components.ts';

const DESCRIPTION = `Waypost is a hypermedia service: a client knows the root, reads the links of what it gets, and follows
those whose relation it understands. The paths are shown here for orientation; do not build them.

Documents have links in their bodies and, the same, in the Link field, so that HEAD is enough. Bodies of messages are any
content at all and come back byte for byte with their Content-Type.`;

const tagDescriptions: Readonly<Record<string, string>> = {
  Service: 'The root, and what the service tells about itself',
  Messaging: 'Queues and topics: posting, once-only posting, batches, receiving, leases, reading, streams',
  Subscribers: 'Targets to which the messages of a queue or topic are forwarded',
  Transactions: 'Two-phase commit over resources of any service that take part',
  Reservations: 'Flights and hotel rooms, reserved as parts of a transaction',
  Consumers: 'Consumers and their entitlements, which are terminated and reinstated by links',
  Operator: 'Notices for the people who run the service',
};

export function describeService(routes: readonly Route[], version: string, base: string): Json {
  const areas = [...new Set(routes.map((route) => route.area))];
  const operations = routes.flatMap((route) => Object.values(route.operations));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Waypost',
      version,
      summary: 'A link-driven message broker, transaction manager and consumer registry in one HTTP service.',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { url: base + paths.serviceDocumentation.href({}), description: 'The same for people' },
    servers: [{ url: base, description: 'The service as this client sees it' }],
    security: [],
    tags: areas.map((name) => ({ name, description: tagDescriptions[name] ?? name })),
    paths: Object.fromEntries(routes.map((route) => [route.resource.template, describeRoute(route)])),
    components: {
      schemas: { ...baseSchemas, ...shapesOf(operations) },
      headers: describeHeaders(),
      responses: { problem: anyProblem, ...namedProblems(operations) },
    },
  };
}

function shapesOf(operations: readonly Operation[]): Json {
  const shapes = operations.flatMap(({ input, output }) => [input, output]).filter((shape) => shape !== undefined);
  return Object.fromEntries(shapes.map(({ name, schema }) => [name, schema]));
}

function namedProblems(operations: readonly Operation[]): Json {
  const codes = new Set(operations.flatMap((operation) => Object.values(firstOfStatus(operation))));
  return Object.fromEntries([...codes].map((code) => [code, problemResponse(code)]));
}

function describeRoute(route: Route): Json {
  const operations: Json = {};
  for (const [method, operation] of Object.entries(route.operations)) {
    // OpenAPI 3.1 knows eight methods; others are told in an extension.
    operations[method === 'LINK' ? 'x-link' : method.toLowerCase()] = describeOperation(route, method, operation);
    if (method === 'GET') operations.head = describeOperation(route, 'HEAD', operation);
  }
  const parameters = route.resource.parameters.map(pathParameter);
  return { summary: route.title, ...(parameters.length === 0 ? {} : { parameters }), ...operations };
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
    summary: method === 'HEAD' ? `${operation.summary} (header only)` : operation.summary,
    tags: [route.area],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.accepts === undefined
      ? {}
      : { requestBody: { content: contentOf(operation.accepts, operation.input) } }),
    responses: describeAnswers(method, operation),
  };
}

const DOCUMENT_TYPES = ['application/json', 'application/xml'];
const WITHOUT_CONTENT = new Set(['204', '303', '304']);

function describeAnswers(method: string, operation: Operation): Json {
  const answers: Json = {};
  const types = operation.produces ?? DOCUMENT_TYPES;
  const isDocument = operation.produces === undefined || operation.output !== undefined;
  for (const [status, description] of Object.entries(operation.answers)) {
    const hasContent = !WITHOUT_CONTENT.has(status) && method !== 'HEAD' && method !== 'LINK' && types.length > 0;
    const fields = new Set([
      'X-Request-Id' as const,
      ...(isDocument && !WITHOUT_CONTENT.has(status) ? (['Link'] as const) : []),
      ...(operation.gives?.[Number(status)] ?? []),
    ]);
    answers[status] = {
      description,
      headers: headersOf([...fields]),
      ...(hasContent ? { content: contentOf(types, operation.output) } : {}),
    };
  }
  for (const [status, code] of Object.entries(firstOfStatus(operation))) answers[status] ??= refTo('responses', code);
  answers['4XX'] = refTo('responses', 'problem');
  answers['5XX'] = refTo('responses', 'problem');
  return answers;
}

/** A status has one description; of several problems with it, the first is told. */
function firstOfStatus(operation: Operation): Record<number, ProblemCode> {
  const codes: Record<number, ProblemCode> = {};
  for (const code of operation.problems ?? []) codes[problems[code][0]] ??= code;
  return codes;
}

function contentOf(types: readonly string[], shape: Shape | undefined): Json {
  return Object.fromEntries(
    types.map((type) => {
      if (type === '*') return ['*/*', contentOfType('*/*')];
      // XML has the same fields, but a schema cannot say how.
      if (shape?.xml !== undefined && type.endsWith('xml')) return [type, xmlContent(shape.xml)];
      if (shape === undefined || !/json$|urlencoded$/.test(type)) return [type, contentOfType(type)];
      const example = shape.example === undefined ? {} : { example: shape.example };
      return [type, { schema: refTo('schemas', shape.name), ...example }];
    }),
  );
}
