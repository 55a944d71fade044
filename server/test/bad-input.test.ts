/** Input that nobody should send: each is refused by name, and the service lives on as if nothing had happened. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type EngineDatabase, forEachEngine } from '../../testing/engines.ts';
import { request } from '../../testing/http.ts';
import { converse } from '../../testing/raw.ts';
import { startWaypost, type WaypostProcess } from '../../testing/waypost.ts';
import { badAddresses } from './bad-addresses.fixtures.ts';
import { badDocuments } from './bad-documents.fixtures.ts';
import { badLinks } from './bad-links.fixtures.ts';
import { badMessages } from './bad-messages.fixtures.ts';
import { type BadRequest, requestBytes } from './bad-requests.fixtures.ts';

const MAX_BODY = 1024 * 1024;
/** What a stack, a statement or a place on the disk looks like. */
const INSIDE =
  /\bat .+:\d+:\d+|node:internal|\.ts:\d|SELECT |INSERT |UPDATE |DELETE FROM|SQLITE|sqlstate|\/node_modules|waypost-test-|waypost\.db/;

forEachEngine('malformed requests', (engine) => {
  let database: EngineDatabase;
  let waypost: WaypostProcess;
  before(async () => {
    database = await engine.database();
    waypost = await startWaypost({ args: [...database.args, '--max-body', String(MAX_BODY)] });
    for (const path of ['/queues/good', '/topics/good']) {
      assert.equal((await request(waypost.url + path, { method: 'PUT' })).status, 201);
    }
  });
  after(async () => {
    await waypost.stop();
    await database.drop();
  });

  test('are each refused with a problem that names the fault', async (t) => {
    const rows = [...badMessages, ...badAddresses, ...badDocuments, ...badLinks];
    assert.ok(rows.length >= 100);
    for (const row of rows) await t.test(row.what, () => refuses(row));
  });

  test('an error in a request waits for the answers before it', async () => {
    const post = requestBytes('POST /queues/order', { body: 'first' });
    const garbage = Buffer.from('GET this is no HTTP\r\n\r\n');
    const [first, second, ...more] = await converse(waypost.port, Buffer.concat([post, garbage]), { answers: 3 });
    assert.deepEqual([first?.status, second?.status, more.length], [204, 400, 0]);
    assert.match(first?.headers.location ?? '', /\/queues\/order\/messages\//);
  });

  test('an error behind a waiting request leaves that request its answer', async () => {
    await request(`${waypost.url}/queues/behind`, { method: 'PUT' });
    const wait = requestBytes('POST /queues/behind/receiving', { headers: { 'Accept-Wait': '30' } });
    const both = converse(waypost.port, Buffer.concat([wait, Buffer.from('GET garbage\r\n\r\n')]), { answers: 3 });
    await request(`${waypost.url}/queues/behind`, { method: 'POST', body: 'for the one who waits' });
    const [first, second, ...more] = await both;
    assert.deepEqual([first?.status, second?.status, more.length], [200, 400, 0]);
    assert.equal(first?.body.toString(), 'for the one who waits');
  });

  test('a body that cannot be read is answered after the request before it', async () => {
    const post = requestBytes('POST /queues/order', { body: 'second' });
    const broken = Buffer.from('POST /queues/order HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n');
    const answers = await converse(waypost.port, Buffer.concat([post, broken]), { answers: 3 });
    assert.deepEqual(
      answers.map(({ status }) => status),
      [204, 400],
    );
  });

  test('a body that is coded beneath its chunks is refused, and nothing that follows it is read', async () => {
    const head = 'POST /queues/bad HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n';
    const coded = Buffer.from(`${head}1\r\nx\r\n0\r\n\r\n`);
    const answers = await converse(waypost.port, Buffer.concat([coded, requestBytes('GET /')]), { answers: 2 });
    assert.deepEqual(
      answers.map(({ status, headers }) => [status, headers.connection]),
      [[400, 'close']],
    );
    assert.match(
      answers[0]?.body.toString() ?? '',
      /only Transfer-Encoding understood here is chunked, not gzip, chunked/,
    );
  });

  test('a refusal reaches a client that sends everything before it reads', async () => {
    for (let round = 0; round < 10; round += 1) {
      const body = Buffer.alloc(16 * MAX_BODY);
      const [answer] = await converse(waypost.port, requestBytes('POST /queues/bad', { body }));
      assert.equal(answer?.status, 413);
    }
  });

  test('what is odd but right is taken', async () => {
    const odd: [string, Buffer, number][] = [
      ['OPTIONS *', requestBytes('OPTIONS *'), 204],
      ['an absolute target', requestBytes('GET http://elsewhere.example/queues'), 200],
      ['empty lines before the request', Buffer.concat([Buffer.from('\r\n\r\n'), requestBytes('GET /')]), 200],
      ['HTTP/1.0 without Host', Buffer.from('GET / HTTP/1.0\r\n\r\n'), 200],
      [
        'a wish for another protocol',
        requestBytes('GET /', { headers: { Connection: 'Upgrade', Upgrade: 'h2c' } }),
        200,
      ],
      [
        'an expectation that is known',
        requestBytes('POST /queues/odd', { body: 'x', headers: { Expect: '100-continue' } }),
        204,
      ],
      [
        'chunks under another spelling',
        Buffer.from('POST /queues/odd HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n'),
        204,
      ],
      ['a preference nobody can read', requestBytes('GET /', { headers: { Prefer: 'wait=soon, "' } }), 200],
      ['an unknown query', requestBytes('POST /queues/odd?unknown=%zz', { body: 'x' }), 204],
      [
        'JSON with a mark of byte order',
        requestBytes('PUT /queues/odd', { type: 'application/json', body: '\ufeff{}' }),
        200,
      ],
      [
        'XML with a mark of byte order',
        requestBytes('PUT /queues/odd', { type: 'text/xml', body: '\ufeff<queue/>' }),
        200,
      ],
      [
        'a type with a parameter',
        requestBytes('PUT /queues/odd', { type: 'Application/JSON ; charset="utf-8"', body: '{}' }),
        200,
      ],
    ];
    for (const [what, bytes, status] of odd) {
      const [answer] = await converse(waypost.port, bytes);
      assert.equal(answer?.status, status, `${what}: ${answer?.body}`);
    }
    const [absolute] = await converse(waypost.port, requestBytes('GET http://elsewhere.example/'));
    assert.match(absolute?.headers.link ?? '', /<http:\/\/elsewhere\.example\/queues>/);
  });

  test('nothing of what was refused was stored', async () => {
    const missing = await request(`${waypost.url}/queues/bad`);
    assert.equal(missing.status, 404);
    const { items } = (await request(`${waypost.url}/queues`)).json<{ items: { name: string }[] }>();
    assert.deepEqual(items.map(({ name }) => name).sort(), ['behind', 'good', 'odd', 'order']);
  });

  test('the same process still posts and receives', async () => {
    const { status } = await request(`${waypost.url}/queues/good`, { method: 'POST', body: 'still here' });
    assert.equal(status, 204);
    const received = await request(`${waypost.url}/queues/good/receiving`, { method: 'POST' });
    assert.equal(received.text(), 'still here');
    process.kill(waypost.pid, 0);
    assert.equal((await request(`${waypost.url}/status`)).status, 200);
    assert.doesNotMatch(waypost.stderr, /"level":50/, 'input is no fault of the service');
  });

  async function refuses(row: BadRequest): Promise<void> {
    const [answer, ...more] = await converse(waypost.port, row.bytes, { end: row.end ?? false });
    assert.ok(answer, 'no answer');
    assert.equal(more.length, 0);
    const text = answer.body.toString('utf8');
    assert.equal(answer.status, row.status, text.slice(0, 1000));
    assert.equal(answer.headers['content-type'], 'application/problem+json');
    assert.ok(text.length < 20_000, `an answer of ${text.length} characters`);
    const problem = JSON.parse(text) as Record<string, unknown>;
    assert.equal(String(problem.type).split('/').at(-1), row.code, text);
    assert.equal(problem.status, row.status);
    assert.equal(problem.instance, `urn:uuid:${answer.headers['x-request-id']}`);
    for (const member of ['title', 'detail']) assert.equal(typeof problem[member], 'string');
    assert.doesNotMatch(text, INSIDE);
    if (row.status === 405) assert.match(answer.headers.allow ?? '', /\bOPTIONS\b/);
    if (row.status === 415) assert.match(answer.headers['accept-post'] ?? '', /^\w+\/\w+/);
  }
});
