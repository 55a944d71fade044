/** Mistakes that people make at a terminal: nothing happens, and the answer says what to do. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Answer, request } from '../../testing/http.ts';
import { startWaypost } from '../../testing/waypost.ts';

let waypost: Awaited<ReturnType<typeof startWaypost>>;
before(async () => {
  waypost = await startWaypost();
});
after(() => waypost.stop());

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const at = (path: string): string => waypost.url + path;
const post = (address: string, body: string, headers: Record<string, string> = FORM): Promise<Answer> =>
  request(address, { method: 'POST', headers, body });
const put = (address: string, body: string): Promise<Answer> =>
  request(address, { method: 'PUT', headers: FORM, body });

function refused(answer: Answer, status: number, detail: RegExp): void {
  assert.equal(answer.status, status, answer.text());
  assert.match(answer.json<{ detail: string }>().detail, detail);
}

test('JSON or XML that is sent as a form, as curl does, is not taken for an empty form', async () => {
  assert.equal((await put(at('/queues/kept'), 'lease=60')).status, 201);
  for (const [body, type] of [
    ['{"lease": 40}', 'json'],
    [' \n{"lease": 40}', 'json'],
    ['<queue><lease>40</lease></queue>', 'xml'],
  ] as const) {
    refused(await put(at('/queues/kept'), body), 400, new RegExp(`looks like ${type}.*application/${type}`, 'i'));
  }
  refused(await post(at('/consumers'), '{"name": "Ada"}'), 400, /looks like JSON/);
  const { lease } = (await request(at('/queues/kept'))).json<{ lease: number }>();
  assert.equal(lease, 60);
});

test('a member of JSON that is given twice is refused by its name', async () => {
  const JSON_TYPE = { 'content-type': 'application/json' };
  assert.equal((await put(at('/queues/once'), 'lease=60')).status, 201);
  const body = '{"lease": 40, "delay": 1, "lease": 50}';
  const twice = await request(at('/queues/once'), { method: 'PUT', headers: JSON_TYPE, body });
  refused(twice, 400, /^lease must be given once$/);
  assert.deepEqual(twice.json<{ errors: unknown }>().errors, [{ pointer: '/lease', detail: 'must be given once' }]);
  assert.equal((await request(at('/queues/once'))).json<{ lease: number }>().lease, 60);
  const nested = '{"name": "Ada", "metadata": {"a": "1", "a": "2"}}';
  refused(await post(at('/consumers'), nested, JSON_TYPE), 400, /^a must be given once$/);
  refused(await post(at('/consumers/terminate'), '{"ids": ["x"], "ids": ["y"]}', JSON_TYPE), 400, /^ids must/);
});

test('a setting that is not known is refused with and without a value', async () => {
  for (const body of ['leese=40', 'leese=', 'leese']) {
    refused(await put(at('/queues/misspelt'), body), 422, /leese is not a setting of a queue; known are lease/);
  }
  assert.equal((await put(at('/queues/misspelt'), 'lease=')).status, 201);
});

test('a setting in the query is refused, and those of the queue stay', async () => {
  await put(at('/queues/kept'), 'lease=300');
  const refusedQuery = await request(at('/queues/kept?lease=600'), { method: 'PUT' });
  refused(refusedQuery, 400, /lease belongs into the body/);
  assert.equal((await request(at('/queues/kept'))).json<{ lease: number }>().lease, 300);
  refused(
    await request(at('/queues/kept/receiving?limit=2'), { method: 'POST' }),
    400,
    /limit is not known here; max is/,
  );
  refused(await request(at('/queues?limit=2')), 400, /limit is not known here; per_page is/);
});

test('a misspelt query is refused, and nothing is posted or listed', async () => {
  await request(at('/queues/slips'), { method: 'PUT' });
  for (const [query, meant] of [
    ['dealy=5', 'delay'],
    ['DelaySeconds=5', 'delay'],
    ['time-to-live=5', 'ttl'],
    ['prio=5', 'priority'],
    ['Priority=9', 'priority'],
    ['persistant=false', 'persistent'],
  ]) {
    refused(await post(at(`/queues/slips?${query}`), 'x'), 400, new RegExp(`is not known here; ${meant} is`));
  }
  const { counts } = (await request(at('/queues/slips'))).json<{ counts: { available: number } }>();
  assert.equal(counts.available, 0);
  const answer = await request(at('/consumers?external_key=k1'));
  refused(answer, 400, /external_key is not known here; external-key is/);
  assert.deepEqual(answer.json<{ errors: unknown }>().errors, [
    { parameter: 'external_key', detail: 'is not known here; external-key is' },
  ]);
  // What has nothing to do with what is known may come from a newer client.
  assert.equal((await request(at('/consumers?utm_source=x&made-up'))).status, 200);
});

test('an address with a slash too many, and one that was made up, say where to go', async () => {
  await request(at('/queues/slash'), { method: 'PUT' });
  refused(await request(at('/queues/slash/')), 404, /leave out the slash at its end/);
  refused(await request(at('/queues/slash//')), 404, /leave out the slash at its end/);
  for (const path of ['/queue/slash', '/made/up/', '//']) {
    refused(await request(at(path)), 404, /start at \/ and follow links/);
  }
});

test('an unknown queue says how it is made', async () => {
  refused(await request(at('/queues/nowhere/receiving'), { method: 'POST' }), 404, /named nowhere; PUT .* creates it/);
});

test('a lease that is extended after the acknowledgement is said to be acknowledged, not overtaken', async () => {
  await post(at('/queues/done'), 'job');
  const delivery = (await request(at('/queues/done/poller'), { method: 'POST' })).link('acknowledgement');
  assert.equal((await post(delivery, 'acknowledge=true')).status, 204);
  const late = await post(delivery, 'extend=60');
  refused(late, 409, /was acknowledged by this link, so that there is no lease to extend/);
  assert.match(late.json<{ type: string }>().type, /already-acknowledged$/);
  // As the answer says, and then there is a lease to have again.
  assert.equal((await post(delivery, 'acknowledge=false')).status, 204);
  assert.equal((await post(delivery, 'extend=60')).status, 204);
});

test('a commit without a state shows how it is written', async () => {
  const transaction = await request(at('/transaction-manager'), { method: 'POST' });
  refused(await request(transaction.link('commit'), { method: 'POST' }), 422, /<transaction state="committed"\/>/);
});

test('a reservation takes its transaction from the Link field, and says how to name it when there is none', async () => {
  const json = { 'content-type': 'application/json', accept: 'application/json' };
  const { location = '' } = (await request(at('/transaction-manager'), { method: 'POST' })).headers;
  const body = '{"date": "2027-03-01", "flight": "WP 7", "seat": "1A"}';
  const reserved = await post(at('/airline/reservations'), body, { ...json, link: `<${location}>; rel="transaction"` });
  assert.equal(reserved.status, 200, reserved.text());
  assert.equal(reserved.link('transaction'), location);
  refused(await post(at('/airline/reservations'), body, json), 422, /<link rel="transaction" href="…"\/>.*Link field/);
  const xml = { 'content-type': 'application/airline-rsv+xml', link: `<${location}>; rel="transaction"` };
  assert.equal(
    (await post(at('/airline/reservations'), '<reservation><seat>2A</seat></reservation>', xml)).status,
    200,
  );
  refused(await post(at('/airline/reservations'), body, { ...json, link: 'tx' }), 400, /Link field cannot be read/);
});
