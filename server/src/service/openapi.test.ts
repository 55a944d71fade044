import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { eventually } from '../../../testing/eventually.ts';
import { request } from '../../../testing/http.ts';
import { startWaypost } from '../../../testing/waypost.ts';

type Schema = {
  $ref?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
  items?: Schema;
};
type Content = Record<string, { schema: Schema }>;
type Answer = { $ref?: string; content?: Content; headers?: Record<string, unknown> };
type Described = {
  paths: Record<string, Record<string, { requestBody?: { content: Content }; responses: Record<string, Answer> }>>;
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
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const settings = { method: 'PUT', headers: form, body: 'lease=60&ttl=600&max-length=10' };
  assert.equal((await request(`${url}/queues/orders`, settings)).status, 201);
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

test('documents of transactions, reservations and notices hold what the description says', async () => {
  const waypost = await startWaypost();
  const { url } = waypost;
  const { description } = await describe(url);
  const look = async (template: string, address: string, method = 'GET', body?: object) => {
    const headers = { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) };
    const answer = await request(address, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const described = description.paths[template]?.[method.toLowerCase()]?.responses[answer.status];
    const schema = described?.content?.['application/json']?.schema;
    assert.ok(schema?.$ref, `${method} ${template} answers ${answer.status} without a description`);
    check(answer.json(), schema, description, `${method} ${template}`);
    return answer;
  };
  const manager = '/transaction-manager';
  const one = `${manager}/transactions/{transaction}`;
  const trip = await look(manager, url + manager, 'POST', { timeout: 'PT30S' });
  const links = [{ rel: 'transaction', href: trip.headers.location }];
  const made = [];
  for (const [kind, fields] of [
    ['airline', { date: '2027-03-01', flight: 'WP 7', seat: '12A', meal: 'none' }],
    ['hotel', { date: '2027-03-01', hotel: 'Seaview', room: '7', nights: 2 }],
  ] as const) {
    const path = `/${kind}/reservations`;
    const reservation = await look(path, url + path, 'POST', { ...fields, links });
    await look(path, url + path);
    await look(`${path}/{reservation}/transaction-state`, reservation.link('transaction-state'));
    made.push({ kind, path, address: reservation.headers.location ?? '' });
  }
  const { items } = (await look(`${one}/participants`, trip.link('participants'))).json<{
    items: { links: { rel: string; href: string }[] }[];
  }>();
  const participant = items[0]?.links.find(({ rel }) => rel === 'self')?.href ?? '';
  await look(`${one}/participants/{participant}`, participant);
  await look(one, trip.headers.location ?? '', 'POST', { state: 'committed' });
  for (const { kind, path, address } of made) {
    const reservation = await look(`${path}/{reservation}`, address);
    const [rel, template] = kind === 'airline' ? ['ticket', '/tickets'] : ['room', '/rooms'];
    await look(`${template}/{reservation}`, reservation.link(rel));
  }

  // Nobody listens at port 9: this one cannot be finished, and an operator is told.
  const stuck = await look(manager, url + manager, 'POST', {});
  const uris = { method: 'POST', headers: { 'content-type': 'text/uri-list' }, body: 'http://127.0.0.1:9/state' };
  await request(stuck.link('participants'), uris);
  const { location = '' } = stuck.headers;
  const headers = { 'content-type': 'application/x-www-form-urlencoded', prefer: 'respond-async' };
  await request(location, { method: 'POST', headers, body: 'state=rolled-back' });
  const notices = `${url}/operator-notices`;
  await eventually(
    'a notice about the stuck transaction',
    async () => (await request(notices)).json<{ items: unknown[] }>().items.length > 0,
  );
  await look(manager, url + manager);
  const found = (await look('/operator-notices', notices)).json<{
    items: { links: { rel: string; href: string }[] }[];
  }>();
  const hrefOf = (rel: string) => found.items[0]?.links.find((each) => each.rel === rel)?.href ?? '';
  await look('/operator-notices/{notice}', hrefOf('self'));
  const resolution = { outcome: 'rolled-back', by: 'ada', why: 'closed' };
  await look(`${one}/participants/{participant}/resolve`, hrefOf('resolve'), 'POST', resolution);
  await look('/operator-notices/{notice}/acknowledge', hrefOf('acknowledge'), 'POST', { by: 'ada', why: 'closed' });
  await look(one, location);
  await waypost.stop();
});

test('every JSON document that is sent or answered has a named shape', async () => {
  const waypost = await startWaypost();
  const { description } = await describe(waypost.url);
  const nameless = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody, responses = {} }]) =>
      [requestBody, ...Object.values(responses)]
        .filter((body) => body?.content?.['application/json'] && !body.content['application/json'].schema.$ref)
        .map(() => `${method} ${path}`),
    ),
  );
  assert.deepEqual(nameless, []);
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
    const known = Object.keys(schema.additionalProperties === true ? fields : schema.properties);
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
