/** A message comes back as it was posted, byte for byte, by every way in and every way out. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type EngineDatabase, forEachEngine } from '../../testing/engines.ts';
import { type Answer, request } from '../../testing/http.ts';
import { converse } from '../../testing/raw.ts';
import { startWaypost, type WaypostProcess } from '../../testing/waypost.ts';
import { parseParts } from './multipart.fixtures.ts';

/** What is posted and has to come back. Fields by name, each with its values in order. */
type Content = { body: Buffer; type?: string; fields?: Record<string, string[]> };

const MIB = 1024 * 1024;

const CONTENTS: Record<string, Content> = {
  'nothing at all': { body: Buffer.alloc(0) },
  'nothing, of a type': { body: Buffer.alloc(0), type: 'text/plain' },
  'one byte': { body: Buffer.from([0]), type: 'application/octet-stream' },
  'every byte there is': { body: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), type: 'image/x-bytes' },
  'text in UTF-8': { body: Buffer.from('Grüße 👋 \u0000\ufeff'), type: 'text/plain; charset=utf-8' },
  'line breaks and boundaries': { body: Buffer.from('\r\n--\r\n----\r\n\r\n--x--\r\n'), type: 'text/plain' },
  'a multipart of its own': { body: Buffer.from('--a\r\n\r\nx\r\n--a--\r\n'), type: 'multipart/mixed; boundary=a' },
  'gzip that stays gzip': {
    body: gzipSync('x'.repeat(10_000)),
    type: 'application/json',
    fields: { 'Content-Encoding': ['gzip'] },
  },
  'ten mebibytes': { body: randomBytes(10 * MIB), type: 'application/octet-stream' },
  'no type': { body: Buffer.from('who knows') },
  'fields of its own': {
    body: Buffer.from('{}'),
    type: 'application/json',
    fields: {
      'X-Twice': ['second, first', 'first'],
      'x-lower': ['lower'],
      'X-UPPER': ['UPPER'],
      'X-Empty': [''],
      'X-Latin': ['caf\xe9 \xa7\xff'],
      'X-Quotes': ['"a\\"b", \\c; d=\'e\''],
      'Correlation-Id': ['4711'],
      traceparent: ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
      'ce-type': ['com.example.made'],
      'ce-source': ['/made/here'],
      'Content-Language': ['de, en'],
      'Content-Disposition': ['attachment; filename="a b.txt"'],
    },
  },
};

const ODD_TYPES = [
  'text/plain; charset="utf-8"',
  'TEXT/Html;Charset=ISO-8859-1',
  'application/json;',
  'application/json;;; charset=utf-8;',
  'text/plain; charset=klingon',
  'text/plain; a="b,c;d\\"e"; A=1; a=2',
  'text/plain; name="caf\xe9"',
  'application/vnd.example+json; version="1.0"; q=0.5',
  'nonsense',
  '/',
  '; charset=utf-8',
  '"quoted"',
  'text/plain, text/html',
  'multipart/mixed',
  'application/x-www-form-urlencoded',
  '*/*',
  `text/x-long; a="${'b'.repeat(4000)}"`,
];
const ODD: Record<string, Content> = Object.fromEntries(
  ODD_TYPES.map((type) => [`the type ${type.slice(0, 40)}`, { body: Buffer.from(type, 'latin1'), type }]),
);

/** Where ten mebibytes may find something that ten bytes do not. */
const LARGE_WAYS = new Set(['POST to the queue', 'PUT under an id', 'chunks of all sizes']);

/** What a posting request carries. */
function outgoing({ body, type, fields = {} }: Content) {
  // Copies: Node's client changes the lists it is given.
  const copies = Object.fromEntries(Object.entries(fields).map(([name, values]) => [name, [...values]]));
  return { body, headers: { ...(type === undefined ? {} : { 'Content-Type': type }), ...copies } };
}

/** Checks fields and body of an answer, or of a part of one. */
function isSame({ type, fields = {} }: Content, rawHeaders: string[], what: string): void {
  const values = (name: string): string[] =>
    rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name.toLowerCase());
  assert.deepEqual(values('content-type'), type === undefined ? [] : [type], `${what}: Content-Type`);
  for (const [name, expected] of Object.entries(fields)) assert.deepEqual(values(name), expected, `${what}: ${name}`);
}

/** Large bodies would make a failure unreadable. */
function isSameBody(found: Buffer, expected: Buffer, what: string): void {
  assert.equal(found.length, expected.length, `${what}: length`);
  assert.ok(found.equals(expected), `${what}: content`);
}

forEachEngine('content', (engine) => {
  let database: EngineDatabase;
  let waypost: WaypostProcess;
  let count = 0;
  before(async () => {
    database = await engine.database();
    waypost = await startWaypost({ args: database.args });
    await request(`${waypost.url}/topics/t`, { method: 'PUT' });
  });
  after(async () => {
    await waypost.stop();
    await database.drop();
  });

  async function newQueue(): Promise<string> {
    count += 1;
    const url = `${waypost.url}/queues/content-${count}`;
    assert.equal((await request(url, { method: 'PUT' })).status, 201);
    return url;
  }

  const posted = (answer: Answer, status: number, field = 'location'): string => {
    assert.equal(answer.status, status, answer.text());
    return answer.headers[field] ?? '';
  };

  /** The ways in: each gives the address of the message. */
  const WAYS_IN: Record<string, (queue: string, content: Content) => Promise<string>> = {
    'POST to the queue': async (queue, content) =>
      posted(await request(queue, { method: 'POST', ...outgoing(content) }), 204),
    'POST without a disk write': async (queue, content) =>
      posted(await request(`${queue}?persistent=false`, { method: 'POST', ...outgoing(content) }), 204),
    'PUT under an id': async (queue, content) =>
      posted(await request(`${queue}/messages/own`, { method: 'PUT', ...outgoing(content) }), 201),
    'the link post-message': async (queue, content) =>
      posted(await request((await request(queue)).link('post-message'), { method: 'POST', ...outgoing(content) }), 201),
    'a create-next link': async (queue, content) => {
      const once = await request((await request(queue)).link('post-message-once'), { method: 'POST' });
      const answer = await request(once.link('create-next'), { method: 'POST', ...outgoing(content) });
      return posted(answer, 200, 'content-location');
    },
    'chunks of all sizes': async (queue, { body, type, fields = {} }) => {
      const lines = Object.entries(fields).flatMap(([name, values]) => values.map((value) => `${name}: ${value}`));
      if (type !== undefined) lines.push(`Content-Type: ${type}`);
      const { pathname } = new URL(queue);
      const head = ['POST', pathname, 'HTTP/1.1'].join(' ');
      const start = [head, 'Host: 127.0.0.1', 'Transfer-Encoding: chunked', ...lines, '', ''].join('\r\n');
      const chunks: Buffer[] = [Buffer.from(start, 'latin1')];
      for (let at = 0, size = 1; at < body.length; at += size, size = Math.min(size * 3, 300_000)) {
        const piece = body.subarray(at, at + size);
        chunks.push(Buffer.from(`${piece.length.toString(16)};ext=1\r\n`), piece, Buffer.from('\r\n'));
      }
      chunks.push(Buffer.from('0\r\nX-Trailer: x\r\n\r\n'));
      const [answer] = await converse(waypost.port, Buffer.concat(chunks));
      assert.equal(answer?.status, 204, String(answer?.body));
      const { location = '' } = answer?.headers ?? {};
      return waypost.url + new URL(location).pathname;
    },
  };

  for (const [way, post] of Object.entries(WAYS_IN)) {
    test(`by ${way}`, async () => {
      const contents = way === 'POST to the queue' ? { ...CONTENTS, ...ODD } : CONTENTS;
      for (const [what, content] of Object.entries(contents)) {
        if (content.body.length > MIB && !LARGE_WAYS.has(way)) continue;
        const queue = await newQueue();
        const address = await post(queue, content);
        await comesBack(queue, address, content, what);
      }
    });
  }

  /** Every way out of a queue. */
  async function comesBack(queue: string, address: string, content: Content, what: string): Promise<void> {
    const check = (answer: Answer, how: string): void => {
      assert.equal(answer.status, 200, `${what}, ${how}: ${answer.text().slice(0, 500)}`);
      isSame(content, answer.rawHeaders, `${what}, ${how}`);
      isSameBody(answer.body, content.body, `${what}, ${how}`);
    };
    const checkPart = (answer: Answer, how: string): void => {
      const [part, ...more] = parseParts(answer);
      assert.ok(part !== undefined && more.length === 0, `${what}, ${how}: not one part`);
      isSame(content, part.rawHeaders, `${what}, ${how}`);
      isSameBody(part.body, content.body, `${what}, ${how}`);
    };
    check(await request(address), 'GET of the message');
    const head = await request(address, { method: 'HEAD' });
    isSame(content, head.rawHeaders, `${what}, HEAD of the message`);
    assert.equal(head.headers['content-length'], String(content.body.length), `${what}, HEAD of the message`);
    assert.equal(head.body.length, 0);
    check(await request(`${queue}/receiving`), 'looking');
    checkPart(await request(`${queue}/receiving?max=3`), 'looking at several');

    const polled = await request((await request(queue)).link('poller'), { method: 'POST' });
    check(polled, 'polling');
    const back = await request(polled.link('acknowledgement'), { method: 'POST', ...asForm('acknowledge=false') });
    assert.equal(back.status, 204, back.text());
    const several = await request(`${(await request(queue)).link('poller')}?max=3`, { method: 'POST' });
    checkPart(several, 'polling several');
    const [part] = parseParts(several);
    const acknowledgement = /<([^>]*)>; rel="acknowledgement"/.exec(part?.headers.link ?? '')?.[1] ?? '';
    assert.equal(
      (await request(acknowledgement, { method: 'POST', ...asForm('acknowledge=false') })).status,
      204,
      'every part has its own links',
    );
    check(await request(`${queue}/receiving`, { method: 'POST' }), 'receiving');
    check(await request(address), 'GET of the received message');
  }

  test('by a topic', async () => {
    for (const [what, content] of Object.entries({ ...CONTENTS, ...ODD })) {
      const next = (await request(`${waypost.url}/topics/t`)).link('next');
      const address = posted(await request(`${waypost.url}/topics/t`, { method: 'POST', ...outgoing(content) }), 204);
      for (const [how, url] of Object.entries({ GET: address, next, last: `${waypost.url}/topics/t/last` })) {
        const answer = await request(url);
        assert.equal(answer.status, 200, `${what}, ${how}: ${answer.text().slice(0, 500)}`);
        isSame(content, answer.rawHeaders, `${what}, ${how}`);
        isSameBody(answer.body, content.body, `${what}, ${how}`);
      }
      const [part] = parseParts(await request(`${next}?max=2`));
      assert.ok(part !== undefined);
      isSame(content, part.rawHeaders, `${what}, several`);
      isSameBody(part.body, content.body, `${what}, several`);
    }
  });

  test('several in one answer, in order', async () => {
    const queue = await newQueue();
    const contents = Object.values({ ...CONTENTS, ...ODD }).filter(({ body }) => body.length < MIB);
    for (const content of contents) await request(queue, { method: 'POST', ...outgoing(content) });
    const parts = parseParts(await request(`${queue}/receiving?max=1000`, { method: 'POST' }));
    assert.equal(parts.length, contents.length);
    for (const [index, content] of contents.entries()) {
      isSame(content, parts[index]?.rawHeaders ?? [], `part ${index}`);
      isSameBody(parts[index]?.body ?? Buffer.alloc(0), content.body, `part ${index}`);
    }
  });

  test('what is about the request or the caller is not handed on', async () => {
    const queue = await newQueue();
    const secret = ['Authorization', 'Cookie', 'X-Forwarded-For', 'Forwarded', 'Proxy-Authorization', 'X-Hop'];
    const headers = { ...Object.fromEntries(secret.map((name) => [name, 'secret'])), Connection: 'close, X-Hop' };
    await request(queue, {
      method: 'POST',
      body: 'x',
      headers: { ...headers, 'Set-Cookie': 'secret', 'X-Kept': 'kept' },
    });
    const answer = await request(`${queue}/receiving`, { method: 'POST' });
    assert.equal(answer.headers['x-kept'], 'kept');
    assert.doesNotMatch(answer.rawHeaders.join('\n'), /secret/);
  });
});

function asForm(body: string) {
  return { body, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } };
}
