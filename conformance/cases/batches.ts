import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Options } from '../client.ts';
import { expectProblem } from '../expect.ts';
import { parseLinks } from '../links.ts';
import { writeMultipart } from '../multipart.ts';
import { follow, partsOf, poll, textBatch, textsOf, uriList } from '../steps.ts';
import type { Destination, World } from '../world.ts';

/** The limit of the default settings. */
const MOST = 1000;

/** Bodies in which a careless reader or writer of multipart goes wrong. */
const AWKWARD: Record<string, Buffer> = {
  empty: Buffer.alloc(0),
  'a line break': Buffer.from('\r\n'),
  'line breaks around': Buffer.from('\r\n\r\ntext\r\n\r\n'),
  'bare LF and CR': Buffer.from('a\nb\rc\n'),
  dashes: Buffer.from('--\r\n--cut\r\n--cut--\r\n'),
  'almost the boundary': Buffer.from('\r\n--cut-between-messag\r\n--cut-between-messagesX\r\n'),
  'every byte': Buffer.from(Array.from({ length: 256 }, (_, i) => i)),
  'what looks like fields': Buffer.from('Content-Type: text/html\r\n\r\nbody'),
  'not UTF-8': Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x00]),
  'a hundred thousand': Buffer.alloc(100_000, '\r\n--'),
};

const frame = (...lines: string[]): Options => ({
  headers: { 'content-type': 'multipart/mixed; boundary=cut' },
  body: lines.join('\r\n'),
});

/** Batches that cannot be read, and the part that is at fault where one is. */
const UNREADABLE: Record<string, [Options, number?]> = {
  'no boundary named': [{ headers: { 'content-type': 'multipart/mixed' }, body: '--cut\r\n\r\nx\r\n--cut--' }],
  'no boundary in the body': [frame('just text')],
  'another boundary in the body': [frame('--other', '', 'x', '--other--', '')],
  'nothing at all': [frame('')],
  'no end': [frame('--cut', '', 'one', '--cut', '', 'two', ''), 2],
  'no empty line behind the fields': [frame('--cut', '', 'one', '--cut', 'X-A: b', '--cut--', ''), 2],
  'a field without a colon': [
    frame('--cut', '', 'one', '--cut', '', 'two', '--cut', 'oops', '', 'x', '--cut--', ''),
    3,
  ],
  'a field without a name': [frame('--cut', ': value', '', 'x', '--cut--', ''), 1],
  'a field that holds NUL': [frame('--cut', '', 'one', '--cut', 'X-A: b\0c', '', 'x', '--cut--', ''), 2],
};

export function batches(world: World): void {
  const { client } = world;
  const batchLink = (to: Destination) => follow(world, to, 'post-batch');

  it('A13 each part becomes a message: 201 and the uri-list, in the order of the parts and of receiving', async () => {
    const queue = await world.queue();
    const texts = ['one', 'two', 'three', 'four'];
    const messages = uriList(client, (await client.post(await batchLink(queue), textBatch(texts))).expect(201));
    assert.equal(messages.length, texts.length);
    for (const [i, message] of messages.entries()) {
      assert.equal((await client.get(message)).expect(200).text(), texts[i]);
    }
    assert.deepEqual(await world.drain(queue), texts);
  });

  it('A13 a topic takes batches, too, and keeps their order', async () => {
    const topic = await world.topic();
    let next = await follow(world, topic, 'next');
    const messages = uriList(
      client,
      (await client.post(await batchLink(topic), textBatch(['a', 'b', 'c']))).expect(201),
    );
    for (const message of messages) {
      const answer = (await client.get(next)).expect(200);
      assert.equal(client.store(answer.headers['content-location'] ?? ''), message);
      next = client.store(answer.link('next'));
    }
    (await client.get(next)).expect(204);
  });

  it('A13 each part has its own Content-Type and fields; those of the request are not the messages’', async () => {
    const queue = await world.queue();
    const reply = '<http://replies.example/box>; rel="reply-to", <http://else.example/>; rel="next"';
    const { contentType, body } = writeMultipart([
      {
        headers: { 'Content-Type': 'text/x-one; a="b;c"', 'X-Mine': 'one', 'Correlation-Id': '7', Link: reply },
        body: '1',
      },
      {
        headers: { 'ce-id': 'e-2', Authorization: 'Bearer x', 'Accept-Wait': '5', 'Message-State': 'dead' },
        body: '2',
      },
    ]);
    const headers = { 'content-type': contentType, 'x-outer': 'outer', 'correlation-id': 'outer' };
    const messages = uriList(client, (await client.post(await batchLink(queue), { headers, body })).expect(201));
    const [one, two] = await Promise.all(messages.map(async (each) => (await client.get(each)).expect(200)));
    assert.ok(one && two);
    assert.equal(one.headers['content-type'], 'text/x-one; a="b;c"');
    assert.equal(one.headers['x-mine'], 'one');
    assert.equal(one.headers['correlation-id'], '7');
    assert.equal(one.link('reply-to'), 'http://replies.example/box');
    assert.ok(!one.has('next'));
    assert.equal(two.headers['content-type'], undefined);
    assert.equal(two.headers['ce-id'], 'e-2');
    assert.equal(two.headers['message-state'], 'available');
    for (const name of ['x-mine', 'x-outer', 'correlation-id', 'authorization', 'accept-wait']) {
      assert.equal(two.headers[name], undefined, name);
    }
  });

  it('A13 bodies come back byte for byte, whatever they hold', async () => {
    const queue = await world.queue();
    const bodies = Object.entries(AWKWARD);
    const { contentType, body } = writeMultipart(bodies.map(([, each]) => ({ body: each })));
    const posted = await client.post(await batchLink(queue), { headers: { 'content-type': contentType }, body });
    for (const [i, message] of uriList(client, posted.expect(201)).entries()) {
      const [name, expected] = bodies[i] ?? [];
      assert.ok(expected?.equals((await client.get(message)).expect(200).body), String(name));
    }
  });

  it('A13 what is around the parts is not part of them: preamble, epilogue, spaces behind a boundary', async () => {
    const queue = await world.queue();
    const lines = [
      'for old readers',
      '--not a boundary',
      '--cut  ',
      '',
      'one',
      '--cut\t',
      'X-A: b',
      '',
      'two',
      '--cut--  ',
    ];
    const options = frame(...lines, 'the end', '--cut', '', 'three', '--cut--');
    (await client.post(await batchLink(queue), options)).expect(201);
    assert.deepEqual(await world.drain(queue), ['one', 'two']);
  });

  it('A13 a boundary may be quoted and hold what only quotes allow, and a long field may be folded', async () => {
    const queue = await world.queue();
    const headers = { 'content-type': 'Multipart/Mixed; Boundary="a b:c"' };
    const body = '--a b:c\r\nX-Long: one\r\n two\r\n\r\nx\r\n--a b:c--';
    const [message = ''] = uriList(client, (await client.post(await batchLink(queue), { headers, body })).expect(201));
    const answer = (await client.get(message)).expect(200);
    assert.equal(answer.text(), 'x');
    assert.equal(answer.headers['x-long'], 'one two');
  });

  it('A13 a part that is multipart itself is one message', async () => {
    const queue = await world.queue();
    const inner = writeMultipart([{ body: 'a' }, { body: 'b' }]);
    const type = inner.contentType;
    const body = Buffer.concat([
      Buffer.from(`--outer\r\nContent-Type: ${type}\r\n\r\n`),
      inner.body,
      Buffer.from('\r\n--outer--\r\n'),
    ]);
    const headers = { 'content-type': 'multipart/mixed; boundary=outer' };
    const [message = ''] = uriList(client, (await client.post(await batchLink(queue), { headers, body })).expect(201));
    const answer = (await client.get(message)).expect(200);
    assert.equal(answer.headers['content-type'], type);
    assert.ok(answer.body.equals(inner.body));
  });

  it('A13 a batch that was received is a batch that can be posted', async () => {
    const [queue, other] = [await world.queue(), await world.queue()];
    const bodies = Object.values(AWKWARD);
    const { contentType, body } = writeMultipart(
      bodies.map((each, i) => ({ headers: { 'X-N': String(i) }, body: each })),
    );
    (await client.post(await batchLink(queue), { headers: { 'content-type': contentType }, body })).expect(201);
    const received = (await client.post(queue.receiving, { query: { max: 100 } })).expect(200);
    const again = { headers: { 'content-type': received.headers['content-type'] ?? '' }, body: received.body };
    (await client.post(await batchLink(other), again)).expect(201);
    const parts = partsOf((await client.post(other.receiving, { query: { max: 100 } })).expect(200));
    assert.equal(parts.length, bodies.length);
    for (const [i, part] of parts.entries()) {
      assert.ok(bodies[i]?.equals(part.body), `body ${i}`);
      assert.equal(part.headers['x-n'], String(i));
      assert.equal(part.headers['message-state'], 'acknowledged');
      const generators = parseLinks(part.headers.link ?? '').filter(({ rel }) => rel === 'generator');
      assert.deepEqual(
        generators.map(({ href }) => client.store(href)),
        [other.address],
      );
    }
  });

  for (const [what, [options, part]] of Object.entries(UNREADABLE)) {
    it(`A13 ${what}: 400${part === undefined ? '' : ` that names part ${part}`}, and nothing is stored`, async () => {
      const queue = await world.queue();
      const problem = expectProblem(await client.post(await batchLink(queue), options), 400);
      if (part !== undefined) assert.match(problem.detail, new RegExp(`\\b(part|message) ${part}\\b`));
      assert.deepEqual(await world.drain(queue), []);
    });
  }

  it('A13 a part whose fields cannot be read is refused with all others, and named', async () => {
    const queue = await world.queue();
    const wrong = [['Content-Type: text/plain', 'Content-Type: text/html'], ['Link: <unreadable']];
    for (const fields of wrong) {
      const lines = ['--cut', '', 'one', '--cut', ...fields, '', 'two', '--cut', '', 'three', '--cut--', ''];
      const problem = expectProblem(await client.post(await batchLink(queue), frame(...lines)), 400);
      assert.match(problem.detail, /\b(part|message) 2\b/);
      assert.ok(problem.errors?.length, 'errors point at it');
    }
    assert.deepEqual(await world.drain(queue), []);
  });

  it('A13 a batch without messages is refused', async () => {
    const queue = await world.queue();
    expectProblem(await client.post(await batchLink(queue), frame('--cut--', '')), 400, 422);
  });

  it('A13 what is no batch is 415 with Accept-Post', async () => {
    const queue = await world.queue();
    for (const type of ['text/plain', 'application/json', 'multipart/form-data; boundary=cut', undefined]) {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
      const answer = await client.post(await batchLink(queue), { headers, body: 'x' });
      expectProblem(answer, 415);
      for (const each of ['multipart/mixed', 'application/atom+xml']) {
        assert.ok(answer.headers['accept-post']?.includes(each), each);
      }
    }
    assert.deepEqual(await world.drain(queue), []);
  });

  it(`A13 ${MOST} messages are a batch, one more is 413 and stores nothing`, async () => {
    const queue = await world.queue();
    const texts = Array.from({ length: MOST }, (_, i) => `m${i}`);
    expectProblem(await client.post(await batchLink(queue), textBatch([...texts, 'too many'])), 413);
    (await client.get(queue.receiving)).expect(204);
    const messages = uriList(client, (await client.post(await batchLink(queue), textBatch(texts))).expect(201));
    assert.equal(new Set(messages).size, MOST);
    const received = (await client.post(queue.receiving, { query: { max: MOST } })).expect(200);
    assert.deepEqual(textsOf(received), texts);
  });

  it('A13 a batch that does not fit into its queue stores nothing', async () => {
    const queue = await world.queue({ 'max-length': 3 });
    await world.post(queue, ['there']);
    expectProblem(await client.post(await batchLink(queue), textBatch(['a', 'b', 'c'])), 409);
    assert.deepEqual(await world.drain(queue), ['there']);
    (await client.post(await batchLink(queue), textBatch(['a', 'b', 'c']))).expect(201);
  });

  it('A13 a batch wakes as many as it serves', async () => {
    const queue = await world.queue();
    const to = await batchLink(queue);
    const waiting = await Promise.all(Array.from({ length: 3 }, () => world.startWaiting('POST', queue.receiving)));
    (await client.post(to, textBatch(['a', 'b', 'c']))).expect(201);
    const texts = await Promise.all(waiting.map(async ({ answer }) => (await answer).expect(200).text()));
    assert.deepEqual(texts.sort(), ['a', 'b', 'c']);
  });

  it('A13 batches that are posted at once are all there, each in its order', async () => {
    const queue = await world.queue();
    const to = await batchLink(queue);
    const sets = Array.from({ length: 8 }, (_, i) => Array.from({ length: 10 }, (__, k) => `${i}.${k}`));
    const answers = await Promise.all(sets.map((texts) => client.post(to, textBatch(texts))));
    for (const answer of answers) answer.expect(201);
    const received = textsOf((await client.post(queue.receiving, { query: { max: 100 } })).expect(200));
    for (const [i, texts] of sets.entries()) {
      assert.deepEqual(
        received.filter((text) => text.startsWith(`${i}.`)),
        texts,
      );
    }
    assert.equal(received.length, 80);
  });

  it('A14 max gives multipart from the poller: each part a delivery of its own', async () => {
    const queue = await world.queue();
    const [binary = Buffer.alloc(0)] = [AWKWARD['every byte']];
    (await client.post(queue.address, { body: binary })).expect(204);
    await world.post(queue, ['b', 'c']);
    const poller = await follow(world, queue, 'poller');
    const parts = partsOf((await client.post(poller, { query: { max: 2 } })).expect(200));
    assert.equal(parts.length, 2);
    assert.ok(parts[0]?.body.equals(binary));
    assert.equal(parts[0]?.headers['content-type'], undefined);
    assert.equal((await poll(world, queue)).text, 'c');
  });

  it('A10 fields of a part that are about a connection or a length stay behind', async () => {
    const queue = await world.queue();
    const fields = {
      'Content-Length': '1',
      'Transfer-Encoding': 'chunked',
      Connection: 'X-Hop',
      'X-Hop': 'no',
      Host: 'h',
    };
    const { contentType, body } = writeMultipart([
      { headers: { ...fields, 'Content-Encoding': 'gzip' }, body: 'not one byte' },
    ]);
    const posted = await client.post(await batchLink(queue), { headers: { 'content-type': contentType }, body });
    const [message = ''] = uriList(client, posted.expect(201));
    const answer = (await client.get(message)).expect(200);
    assert.equal(answer.text(), 'not one byte');
    assert.equal(answer.headers['content-length'], '12');
    assert.equal(answer.headers['content-encoding'], 'gzip');
    for (const name of ['x-hop', 'host', 'transfer-encoding']) assert.equal(answer.headers[name], undefined, name);
  });

  it('G4 an Accept that cannot be served does not undo what was done: a batch is stored and told, or refused', async () => {
    const queue = await world.queue();
    const headers = { ...textBatch(['a', 'b']).headers, accept: 'image/png' };
    const answer = await client.post(await batchLink(queue), { ...textBatch(['a', 'b']), headers });
    assert.deepEqual(await world.drain(queue), answer.expect(201, 406).status === 201 ? ['a', 'b'] : []);
  });
}
