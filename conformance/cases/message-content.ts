import assert from 'node:assert/strict';
import { it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Answer, Options } from '../client.ts';
import { expectProblem } from '../expect.ts';
import type { Queue, World } from '../world.ts';

/** Fields of the sender that reach the receiver. */
const PASS: Record<string, string> = {
  'X-Anything': 'at all',
  'X-Empty': '',
  'Correlation-Id': '4711',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'vendor=value',
  baggage: 'user=1',
  'ce-id': '1',
  'ce-type': 'com.example.made',
  'ce-source': '/here',
  'ce-specversion': '1.0',
  'Content-Language': 'de',
  'Content-Disposition': 'attachment; filename="a.txt"',
  'Idempotency-Key': '"k"',
  'Made-Up': 'a, b; c="d"',
};

/** Fields about the request, the connection or the caller, and names that the answer itself uses. */
const STAY: Record<string, string> = {
  'User-Agent': 'stays/1.0',
  Accept: 'text/stays',
  'Accept-Language': 'stays',
  'Accept-Encoding': 'stays',
  'Accept-Wait': '0',
  Authorization: 'Bearer stays',
  'Proxy-Authorization': 'Basic stays',
  Cookie: 'stays=1',
  Prefer: 'stays',
  'If-Unmodified-Since': 'Sat, 29 Oct 1994 19:43:31 GMT',
  Range: 'bytes=0-1',
  TE: 'trailers',
  Via: '1.1 stays',
  Forwarded: 'for=stays',
  'X-Forwarded-For': 'stays',
  'X-Forwarded-Proto': 'stays',
  Referer: 'http://stays.example/',
  Origin: 'http://stays.example',
  From: 'stays@example.org',
  'Keep-Alive': 'timeout=5, stays',
  'X-Request-Id': 'stays',
  'Message-Id': 'stays',
  'Message-State': 'stays',
  'Delivery-Count': '99',
  Location: 'http://stays.example/',
  'Content-Location': 'http://stays.example/',
  ETag: '"stays"',
  Allow: 'STAYS',
  'Retry-After': '99',
  'Set-Cookie': 'stays=1',
  'Access-Control-Allow-Origin': 'http://stays.example',
  'Content-Security-Policy': 'stays',
  'Strict-Transport-Security': 'max-age=1; stays',
};

export function messageContent(world: World): void {
  const { client } = world;

  /** Posts a message in both ways and gives what a receiver gets and what its address shows. */
  async function roundTrips(options: Options): Promise<Answer[]> {
    const queue: Queue = await world.queue();
    (await client.post(queue.address, options)).expect(204);
    (await client.put(queue.message('named'), options)).expect(201);
    const answers: Answer[] = [];
    for (let i = 0; i < 2; i++) {
      const received = (await client.post(queue.receiving)).expect(200);
      const shown = await client.get(client.store(received.headers['content-location'] ?? ''));
      answers.push(received, shown.expect(200));
    }
    return answers;
  }

  for (const type of [
    'text/plain',
    'text/plain;charset=ISO-8859-1',
    'Application/JSON ; Charset="utf-8"',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=xyz',
    'made-up',
    '*/*',
  ]) {
    it(`A10 the Content-Type comes back as it was: ${type}`, async () => {
      for (const answer of await roundTrips({ headers: { 'content-type': type }, body: 'x' })) {
        assert.equal(answer.headers['content-type'], type);
      }
    });
  }

  it('A10 a Content-Type that was not there is not made up', async () => {
    for (const answer of await roundTrips({ body: 'x' })) assert.equal(answer.headers['content-type'], undefined);
  });

  for (const [what, body] of Object.entries({
    'every byte there is': Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
    'no byte at all': Buffer.alloc(0),
    'line ends of all kinds': Buffer.from('a\nb\r\nc\r\r\n\n'),
    'text beyond ASCII': Buffer.from('Grüße, 世界 🎉'),
    'a broken encoding': Buffer.from([0xc3, 0x28, 0xff, 0xfe]),
    'a mebibyte of noise': Buffer.from(Array.from({ length: 1024 * 1024 }, (_, i) => (i * 7919) % 251)),
  })) {
    it(`A10 the body comes back byte for byte: ${what}`, async () => {
      for (const answer of await roundTrips({ body })) {
        assert.ok(answer.body.equals(body));
        assert.equal(answer.headers['content-length'], String(body.length));
      }
    });
  }

  it('A10 a body that was sent in chunks is one body', async () => {
    const headers = { 'transfer-encoding': 'chunked' };
    for (const answer of await roundTrips({ headers, body: 'in chunks' })) assert.equal(answer.text(), 'in chunks');
  });

  it('A10 gzip stays gzip', async () => {
    const body = gzipSync('packed');
    const headers = { 'content-type': 'text/plain', 'content-encoding': 'gzip' };
    for (const answer of await roundTrips({ headers, body })) {
      assert.equal(answer.headers['content-encoding'], 'gzip');
      assert.ok(answer.body.equals(body));
    }
  });

  it('A10 fields of the sender’s own are handed on', async () => {
    for (const answer of await roundTrips({ headers: PASS, body: 'x' })) {
      for (const [name, value] of Object.entries(PASS)) assert.deepEqual(answer.fields(name), [value], name);
    }
  });

  it('A10 fields about the request, the connection or the caller stay behind', async () => {
    for (const answer of await roundTrips({ headers: STAY, body: 'x' })) {
      for (const [name, value] of Object.entries(STAY)) {
        assert.ok(!answer.fields(name).includes(value), `${name}: ${value}`);
      }
      assert.ok(!JSON.stringify(answer.headers).includes('stays'), JSON.stringify(answer.headers));
    }
  });

  it('A10 fields that Connection names are of one hop and stay behind', async () => {
    const headers = { connection: 'close, X-Hop', 'x-hop': 'stays', 'x-mine': 'passes' };
    for (const answer of await roundTrips({ headers, body: 'x' })) {
      assert.equal(answer.headers['x-hop'], undefined);
      assert.equal(answer.headers['x-mine'], 'passes');
    }
  });

  it('A10 a field that came several times comes several times, in order', async () => {
    const headers = { 'X-Many': ['one', 'two', 'one', 'a, b'], 'ce-list': ['x', 'y'] };
    for (const answer of await roundTrips({ headers, body: 'x' })) {
      assert.deepEqual(answer.fields('x-many'), headers['X-Many']);
      assert.deepEqual(answer.fields('ce-list'), headers['ce-list']);
    }
  });

  it('A10 values beyond ASCII come back byte for byte', async () => {
    // Field values are bytes; this is how UTF-8 and Latin-1 look to a reader of bytes.
    const values = [Buffer.from('Grüße, 世界').toString('latin1'), 'caf\xe9', '\\"quoted\\"', "it's"];
    for (const answer of await roundTrips({ headers: { 'x-text': values }, body: 'x' })) {
      assert.deepEqual(answer.fields('x-text'), values);
    }
  });

  it('A10 Link is handed on for the reply-to relations and for extension relations', async () => {
    const reply = { rel: 'reply-to', href: 'http://replies.example/box', type: 'text/plain', title: 'The box' };
    const extension = { rel: 'https://relations.example/parent', href: 'http://things.example/1?a=b&c=d' };
    const link = [
      `<${reply.href}>; rel="reply-to"; type="text/plain"; title="The box"`,
      `<${extension.href}>; rel="${extension.rel}"`,
      '<http://things.example/once>; rel="reply-to-once"',
      '<urn:example:thing>; rel="urn:example:relation"',
      '<http://evil.example/>; rel="self"',
      '<http://evil.example/>; rel="generator"',
      '<http://evil.example/>; rel="next"',
      '<http://evil.example/>; rel="acknowledgement"',
      '<http://evil.example/>; rel="stylesheet"',
    ].join(', ');
    for (const answer of await roundTrips({ headers: { link }, body: 'x' })) {
      const of = (rel: string) => answer.links.filter((each) => each.rel === rel);
      assert.deepEqual(of('reply-to'), [reply]);
      assert.deepEqual(of(extension.rel), [extension]);
      assert.equal(of('reply-to-once').length, 1);
      assert.equal(answer.link('urn:example:relation'), 'urn:example:thing');
      assert.equal(of('self').length, 1);
      assert.ok(!(answer.headers.link ?? '').includes('evil'), String(answer.headers.link));
      assert.equal(answer.fields('link').length, 1);
    }
  });

  it('A10 several Link fields are one', async () => {
    const link = ['<http://a.example/>; rel="reply-to"', '<http://b.example/>; rel="urn:x"'];
    for (const answer of await roundTrips({ headers: { link }, body: 'x' })) {
      assert.equal(answer.link('reply-to'), 'http://a.example/');
      assert.equal(answer.link('urn:x'), 'http://b.example/');
    }
  });

  it('A10 a link to this service is absolute for whoever reads it', async () => {
    const replies = await world.queue();
    const link = `<${client.bases[0]}${replies.address}>; rel="reply-to"`;
    for (const answer of await roundTrips({ headers: { link }, body: 'x' })) {
      const target = answer.link('reply-to');
      assert.equal(client.store(target), replies.address);
      (await client.get(target)).expect(200);
    }
  });

  it('A10 a Link that cannot be read is 400 and stores nothing', async () => {
    const queue = await world.queue();
    for (const link of ['nonsense', '<http://a.example/', '<http://a.example/>; rel="unclosed']) {
      expectProblem(await client.post(queue.address, { headers: { link }, body: 'x' }), 400);
    }
    (await client.post(queue.receiving)).expect(204);
  });
}
