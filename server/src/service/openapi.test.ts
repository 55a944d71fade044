import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { request } from '../../../testing/http.ts';
import { startWaypost } from '../../../testing/waypost.ts';

type Schema = { $ref?: string; required?: string[]; properties?: Record<string, Schema>; items?: Schema };
type Content = Record<string, { schema: Schema }>;
type Answer = { $ref?: string; content?: Content; headers?: Record<string, unknown> };
type Described = {
  paths: Record<string, Record<string, { responses: Record<string, Answer> }>>;
  components: { schemas: Record<string, Schema> };
};

/** Follows the service-desc link of the root. */
async function describe(url: string): Promise<{ text: string; description: Described }> {
  const root = await request(`${url}/`);
  const answer = await request(root.link('service-desc'));
  assert.equal(answer.headers['content-type'], 'application/vnd.oai.openapi+json');
  return { text: answer.text(), description: answer.json<Described>() };
}

test('the description is valid and has no weak spot by the recommended rules', async () => {
  const waypost = await startWaypost();
  const { text } = await describe(waypost.url);
  const config = await createConfig({
    extends: ['recommended'],
    rules: {
      // The server is where this client found the service, and here that is this machine.
      'no-server-example.com': 'off',
    },
  });
  const faults = await lintFromString({ source: text, absoluteRef: 'openapi.json', config });
  assert.deepEqual(
    faults.map(({ ruleId, message, location }) => `${ruleId} at ${location[0]?.pointer}: ${message}`),
    [],
  );
  await waypost.stop();
});

test('documents hold what the description says, and nothing else', async () => {
  const waypost = await startWaypost();
  const { description } = await describe(waypost.url);
  const { url } = waypost;
  await request(`${url}/queues/orders`, { method: 'PUT', body: 'lease=60&ttl=600&max-length=10' });
  await request(`${url}/topics/news`, { method: 'PUT' });
  await request(`${url}/queues/orders`, { method: 'POST', body: 'hello' });
  const polled = await request(`${url}/queues/orders/poller`, { method: 'POST' });
  const looked: [template: string, address: string, method?: string][] = [
    ['/', `${url}/`],
    ['/status', `${url}/status`],
    ['/problems/{code}', `${url}/problems/bad-name`],
    ['/queues', `${url}/queues`],
    ['/topics', `${url}/topics`],
    ['/queues/{name}', `${url}/queues/orders`],
    ['/topics/{name}', `${url}/topics/news`],
    ['/queues/{name}/messages/{message-id}/acknowledgement/{token}', polled.link('acknowledgement')],
    ['/queues/{name}/purge', `${url}/queues/orders/purge`, 'POST'],
    ['/queues/{name}/redrive', `${url}/queues/orders.dead/redrive`, 'POST'],
  ];
  await request(`${url}/queues/orders.dead`, { method: 'PUT' });
  for (const [template, address, method = 'GET'] of looked) {
    const answer = await request(address, { method });
    const described = description.paths[template]?.[method.toLowerCase()]?.responses[answer.status];
    const schema = described?.content?.['application/json']?.schema;
    assert.ok(schema, `${method} ${template} answers ${answer.status} without a description`);
    check(answer.json(), schema, description, `${method} ${template}`);
  }
  await waypost.stop();
});

test('fields of answers are described', async () => {
  const waypost = await startWaypost();
  const { description } = await describe(waypost.url);
  const queue = `${waypost.url}/queues/orders`;
  const posted = await request(queue, { method: 'POST', body: 'hello' });
  await request(queue, { method: 'POST', body: 'hello' });
  const looked: [template: string, address: string, method: string][] = [
    ['/queues/{name}', queue, 'POST'],
    ['/queues/{name}', queue, 'GET'],
    ['/queues/{name}/messages', `${queue}/messages`, 'POST'],
    ['/queues/{name}/messages/{message-id}', posted.headers.location ?? '', 'GET'],
    ['/queues/{name}/receiving', `${queue}/receiving`, 'POST'],
    ['/queues/{name}/poller', `${queue}/poller`, 'POST'],
    ['/queues/{name}/post-once', `${queue}/post-once`, 'POST'],
  ];
  // Fields of HTTP itself, which need no description.
  const usual =
    /^(date|connection|keep-alive|content-(type|length)|vary|cache-control|x-content.*|content-security.*)$/;
  for (const [template, address, method] of looked) {
    const answer = await request(address, { method });
    const headers = description.paths[template]?.[method.toLowerCase()]?.responses[answer.status]?.headers ?? {};
    const described = Object.keys(headers).map((name) => name.toLowerCase());
    const missing = Object.keys(answer.headers).filter((name) => !usual.test(name) && !described.includes(name));
    assert.deepEqual(missing, [], `${method} ${template} answers ${answer.status}`);
  }
  await waypost.stop();
});

/** As much of JSON Schema as the description uses for documents. */
function check(value: unknown, given: Schema, description: Described, where: string): void {
  const name = given.$ref?.replace('#/components/schemas/', '');
  const schema = name === undefined ? given : description.components.schemas[name];
  assert.ok(schema, `${where}: there is no schema ${name}`);
  if (Array.isArray(value)) {
    for (const each of value) check(each, schema.items ?? {}, description, where);
  } else if (schema.properties !== undefined) {
    const fields = value as Record<string, unknown>;
    const known = Object.keys(schema.properties);
    assert.deepEqual(
      Object.keys(fields).filter((field) => !known.includes(field)),
      [],
      `${where}: fields not described`,
    );
    assert.deepEqual(
      (schema.required ?? []).filter((field) => !(field in fields)),
      [],
      `${where}: fields left out`,
    );
    for (const [field, each] of Object.entries(fields)) check(each, schema.properties[field] ?? {}, description, where);
  }
}
