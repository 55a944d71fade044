/** Whatever is read here is read as it is: a compressed body is refused wherever the description speaks of one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { request } from '../../testing/http.ts';
import { startWaypost } from '../../testing/waypost.ts';

type Described = { paths: Record<string, Record<string, { requestBody?: { content: Record<string, unknown> } }>> };

const XML = { 'content-type': 'application/xml' };
const JSON_TYPE = { 'content-type': 'application/json' };

test('no input that the description names is read compressed, whatever its type', async () => {
  const waypost = await startWaypost();
  const at = (path: string): string => waypost.url + path;
  const post = (target: string, headers: Record<string, string> = {}, body = '') =>
    request(target, { method: 'POST', headers, body });
  const description = (await request((await request(at('/'))).link('service-desc'))).json<Described>();

  await request(at('/queues/coded'), { method: 'PUT' });
  await request(at('/topics/coded'), { method: 'PUT' });
  await post(at('/queues/coded'), {}, 'x');
  const delivery = (await post(at('/queues/coded/poller'))).link('acknowledgement');
  const transaction = (await post(at('/transaction-manager'))).headers.location ?? '';
  const reserve = (kind: string) =>
    post(
      at(`/${kind}/reservations`),
      { ...XML, link: `<${transaction}>; rel="transaction"` },
      '<reservation><seat>1A</seat></reservation>',
    );
  const consumer = (await post(at('/consumers'), JSON_TYPE, '{"name":"Ada"}')).headers.location ?? '';
  const granted = await post(`${consumer}/entitlements`, JSON_TYPE, '{"product":{"id":"p"}}');
  /** One that is there, for every address that is looked up before its body is read. */
  const present: Record<string, string> = {
    '/queues/{name}/messages/{message-id}/acknowledgement/{token}': delivery,
    '/airline/reservations/{reservation}/transaction-state': `${(await reserve('airline')).headers.location}/transaction-state`,
    '/hotel/reservations/{reservation}/transaction-state': `${(await reserve('hotel')).headers.location}/transaction-state`,
    '/transaction-manager/transactions/{transaction}': transaction,
    '/consumers/{uuid}': consumer,
    '/entitlements/{uuid}': granted.headers.location ?? '',
  };
  for (const kind of ['queue', 'topic']) {
    const once = (await post(at(`/${kind}s/coded/batch-once`))).link('create-next');
    present[`/${kind}s/{name}/batch-once/{token}`] = once;
  }
  const longestFirst = Object.entries(present).sort(([a], [b]) => b.length - a.length);
  const addressOf = (template: string): string => {
    const [known, address] = longestFirst.find(([known]) => template.startsWith(known)) ?? ['', waypost.url];
    return (address + template.slice(known.length)).replaceAll('{name}', 'coded').replace(/\{[^}]+\}/g, 'x');
  };

  const read: string[] = [];
  let tried = 0;
  for (const [template, operations] of Object.entries(description.paths)) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      for (const type of Object.keys(requestBody?.content ?? {})) {
        if (type === '*/*') continue;
        tried++;
        const answer = await request(addressOf(template), {
          method: method.toUpperCase(),
          headers: { 'content-type': type, 'content-encoding': 'gzip' },
          body: gzipSync('{}'),
        });
        const isRefused = answer.status === 415 && answer.headers['accept-encoding'] === 'identity';
        if (!isRefused) read.push(`${method} ${template} ${type}: ${answer.status}`);
      }
    }
  }
  assert.deepEqual(read, []);
  assert.ok(tried > 60, `${tried} were tried`);
  await waypost.stop();
});
