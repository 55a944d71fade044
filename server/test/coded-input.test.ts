/**
 * Whatever is read here is read as it is, in UTF-8: a body that is compressed or in another charset is refused wherever the
 * description speaks of one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { request } from '../../testing/http.ts';
import { startWaypost } from '../../testing/waypost.ts';

type Described = { paths: Record<string, Record<string, { requestBody?: { content: Record<string, unknown> } }>> };

const XML = { 'content-type': 'application/xml' };
const JSON_TYPE = { 'content-type': 'application/json' };

const FOREIGN = ['charset=utf-16', 'a=b; Charset="ISO-8859-1"', 'charset=utf-8; charset=utf-32'];
const FEED = '<feed xmlns="http://www.w3.org/2005/Atom"><entry><content>x</content></entry></feed>';
const LINK = '<link xmlns="http://www.w3.org/2005/Atom" rel="post-message" href="http://127.0.0.1:1/"/>';

test('no input that the description names is read compressed or in another charset, whatever its type', async () => {
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
  let triedCharsets = 0;
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
        if (!/(?:json|xml)$/.test(type)) continue;
        triedCharsets++;
        for (const charset of FOREIGN) {
          const send = { 'content-type': `${type}; ${charset}` };
          const other = await request(addressOf(template), { method: method.toUpperCase(), headers: send, body: '{}' });
          const isTold = other.headers['accept-post'] !== undefined && /send it in UTF-8/.test(other.text());
          if (other.status !== 415 || !isTold) read.push(`${method} ${template} ${type}; ${charset}: ${other.status}`);
        }
      }
    }
  }
  assert.deepEqual(read, []);
  assert.ok(tried > 60, `${tried} were tried`);
  assert.ok(triedCharsets > 40, `${triedCharsets} were tried`);
  await waypost.stop();
});

test('UTF-8 may be named as one likes, and XML may say in itself what it is in', async () => {
  const waypost = await startWaypost();
  const put = async (type: string, body: string): Promise<number> =>
    (await request(`${waypost.url}/queues/named`, { method: 'PUT', headers: { 'content-type': type }, body })).status;
  assert.equal(await put('application/json', '{"lease": 60}'), 201);
  for (const charset of ['utf-8', 'UTF-8', '"utf-8"', '"UTF-8"', 'Utf8', 'us-ascii']) {
    assert.equal(await put(`application/json; charset=${charset}`, '{"lease": 60}'), 200, charset);
    assert.equal(await put(`application/xml;Charset=${charset};a=b`, '<queue lease="60"/>'), 200, charset);
  }
  for (const encoding of ['UTF-8', 'utf-8', 'US-ASCII']) {
    assert.equal(
      await put('text/xml', `<?xml version="1.0" encoding="${encoding}"?><queue lease="60"/>`),
      200,
      encoding,
    );
  }
  for (const [path, type, body] of [
    ['/queues', 'application/xml', '<queue name="other"/>'],
    ['/queues/named/batches', 'application/atom+xml', FEED],
    ['/queues/named/subscribers', 'application/atom+xml', LINK],
    ['/airline/reservations', 'application/airline-rsv+xml', '<reservation/>'],
    ['/transaction-manager', 'application/tx+xml', '<transaction/>'],
    ['/consumers', 'application/xml', '<consumer><name>Ada</name></consumer>'],
  ] as const) {
    const refused = await request(waypost.url + path, {
      method: 'POST',
      headers: { 'content-type': type },
      body: `<?xml version="1.0" encoding="ISO-8859-1"?>${body}`,
    });
    assert.equal(refused.status, 415, `${path}: ${refused.text()}`);
    assert.match(refused.json<{ detail: string }>().detail, /must be UTF-8, not ISO-8859-1 .*; send it in UTF-8$/);
    assert.match(refused.headers['accept-post'] ?? '', /xml/);
  }
  await waypost.stop();
});
