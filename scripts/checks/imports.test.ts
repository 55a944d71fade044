import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { importFaults } from './imports.ts';
import type { SourceFile } from './sources.ts';

const file = (path: string, ...imports: string[]): SourceFile => ({
  path,
  text: imports.map((specifier) => `import { x } from '${specifier}';`).join('\n'),
});
const typeFile = (path: string, ...imports: string[]): SourceFile => ({
  path,
  text: imports.map((specifier) => `import type { X } from '${specifier}';`).join('\n'),
});
const messages = (...files: SourceFile[]) => importFaults(files).map(({ message }) => message);

describe('what may be', () => {
  const allowed: [what: string, file: SourceFile][] = [
    ['rules import rules and problems', file('server/src/messaging/queue.ts', './message.ts', '../problems.ts')],
    ['rules import types', typeFile('server/src/messaging/queue.ts', '../store/store.ts')],
    ['queries import the seam', file('server/src/messaging/queries.ts', '../store/store.ts', './message.ts')],
    ['queries in a folder, too', file('server/src/messaging/queries/post.ts', '../../store/dialect.ts')],
    ['use cases import rules and queries', file('server/src/messaging/messaging.ts', './queue.ts', './queries.ts')],
    ['further use cases', file('server/src/messaging/topics.usecases.ts', './messaging.ts', '../ids.ts')],
    [
      'routes import use cases, views, http',
      file('server/src/messaging/routes.ts', './messaging.ts', './views.ts', '../http/links.ts'),
    ],
    [
      'server.ts knows everything',
      file('server/src/server.ts', './messaging/routes.ts', './store/store.ts', 'fastify'),
    ],
    [
      'an area puts itself together',
      file('server/src/messaging/area.ts', './messaging.ts', './routes.ts', './views.ts', '../duties/prune.ts'),
    ],
    ['use cases and duties ask who is alive', file('server/src/duties/prune.ts', '../nodes/membership.ts')],
    ['queries ask whether an owner is gone', file('server/src/messaging/queries.ts', '../nodes/queries.ts')],
    ['the store knows its engines', file('server/src/store/open.ts', './sqlite/sqlite.ts', 'node:sqlite', 'pg')],
    [
      'tests use the ground of the tests',
      file('server/src/messaging/queue.test.ts', '../../../testing/http.ts', './queries.ts'),
    ],
    ['the console speaks through the client', file('console/app.ts', '../client/client.ts')],
  ];
  for (const [what, source] of allowed) {
    test(what, () => assert.deepEqual(messages(source), []));
  }
});

describe('what may not be', () => {
  const forbidden: [what: string, file: SourceFile][] = [
    ['rules import the store beyond its seam', file('server/src/messaging/queue.ts', '../store/migrate.ts')],
    ['rules import queries', file('server/src/messaging/queue.ts', './queries.ts')],
    ['rules import a package', file('server/src/messaging/queue.ts', 'saxes')],
    ['rules import a built-in module', file('server/src/messaging/queue.ts', 'node:fs')],
    ['queries import an engine', file('server/src/messaging/queries.ts', '../store/sqlite/sqlite.ts')],
    ['queries import a use case', file('server/src/messaging/queries.ts', './messaging.ts')],
    ['use cases import routes', file('server/src/messaging/messaging.ts', './routes.ts')],
    ['use cases import http', file('server/src/messaging/messaging.ts', '../http/links.ts')],
    ['routes import queries', file('server/src/messaging/topic.routes.ts', './queries.ts')],
    ['routes import the store', file('server/src/messaging/routes.ts', '../store/store.ts')],
    ['views import use cases', file('server/src/messaging/views.ts', './messaging.ts')],
    ['an area opens the store', file('server/src/messaging/area.ts', '../store/open.ts')],
    ['nodes know what is owned', file('server/src/nodes/nodes.ts', '../messaging/messaging.ts')],
    ['queries import the life of a node', file('server/src/messaging/queries.ts', '../nodes/membership.ts')],
    ['http imports an area', file('server/src/http/links.ts', '../messaging/queue.ts')],
    ['the store imports an area', file('server/src/store/store.ts', '../messaging/queue.ts')],
    ['server.ts imports an engine', file('server/src/server.ts', './store/postgres/postgres.ts')],
    ['server.ts imports a driver', file('server/src/server.ts', 'node:sqlite')],
    ['an engine even as a type', typeFile('server/src/server.ts', './store/sqlite/sqlite.ts')],
    ['the product imports the ground of its tests', file('server/src/server.ts', '../../testing/http.ts')],
    ['the client imports the server', file('client/client.ts', '../server/src/problems.ts')],
    ['a test of the client imports the server', file('client/client.test.ts', '../server/src/problems.ts')],
    ['the client imports Node', file('client/client.ts', 'node:http')],
    ['conformance imports a type of the server', typeFile('conformance/run.ts', '../server/src/problems.ts')],
    ['the console goes around the client', file('console/app.ts', '../server/src/http/links.ts')],
  ];
  for (const [what, source] of forbidden) {
    test(what, () => assert.notDeepEqual(messages(source), []));
  }
});

test('a file without a role is a fault', () => {
  assert.match(messages(file('server/src/utils/things.ts')).join(), /no role fits/);
});

test('a fault says where it is and why', () => {
  const [fault] = importFaults([{ path: 'client/a.ts', text: "\nimport { x } from '../server/src/server.ts';\n" }]);
  assert.equal(fault?.file, 'client/a.ts');
  assert.equal(fault?.line, 2);
  assert.match(fault?.message ?? '', /client may not import server\/src\/server\.ts \(composition\): .*fetch only/);
});

test('a circle at run time is a fault, one of types is none', () => {
  const one = file('server/src/messaging/queue.ts', './message.ts');
  assert.match(
    messages(one, file('server/src/messaging/message.ts', './queue.ts')).join(),
    /message\.ts → .*queue\.ts → /,
  );
  assert.deepEqual(messages(one, typeFile('server/src/messaging/message.ts', './queue.ts')), []);
});
