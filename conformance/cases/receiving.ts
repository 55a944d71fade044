import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Answer } from '../client.ts';
import { expectAbsolute, expectProblem, lastingFields } from '../expect.ts';
import { parseLinks } from '../links.ts';
import { type Part, parseMultipart } from '../multipart.ts';
import type { World } from '../world.ts';

export function receiving(world: World): void {
  const { client } = world;
  const partsOf = (answer: Answer): Part[] => parseMultipart(answer.headers['content-type'] ?? '', answer.body);
  const texts = (parts: Part[]): string[] => parts.map(({ body }) => body.toString());

  it('A7 receiving gives the oldest message and takes it off the queue', async () => {
    const queue = await world.queue();
    const [first] = await world.post(queue, ['one', 'two']);
    const answer = (await client.post(queue.receiving)).expect(200);
    assert.equal(answer.text(), 'one');
    expectAbsolute(answer.headers['content-location'], 'Content-Location');
    assert.equal(client.store(answer.headers['content-location']), first);
    assert.equal(client.store(answer.link('self')), first);
    assert.equal(client.store(answer.link('generator')), queue.address);
    assert.match(answer.headers['cache-control'] ?? '', /no-store/);
    assert.equal(answer.headers['message-state'], 'acknowledged');
    assert.equal(answer.headers['delivery-count'], '1');
    assert.equal((await client.post(queue.receiving)).expect(200).text(), 'two');
    (await client.post(queue.receiving)).expect(204);
  });

  it('A7 GET gives the same answer without taking', async () => {
    const queue = await world.queue();
    await world.post(queue, ['one', 'two']);
    const url = `${client.bases[0]}${queue.receiving}`;
    const seen = (await client.get(url)).expect(200);
    assert.equal((await client.get(url)).expect(200).text(), 'one');
    assert.equal((await client.head(url)).expect(200).headers['content-location'], seen.headers['content-location']);
    const taken = (await client.post(url)).expect(200);
    const except = ['message-state', 'delivery-count'];
    assert.deepEqual(lastingFields(seen, except), lastingFields(taken, except));
    assert.equal(seen.text(), taken.text());
    assert.equal(seen.headers['message-state'], 'available');
    assert.equal(seen.headers['delivery-count'], '0');
  });

  it('A7 GET on the queue itself takes nothing either', async () => {
    const queue = await world.queue();
    await world.post(queue, ['one']);
    (await client.get(queue.address)).expect(200);
    (await client.head(queue.address)).expect(200);
    assert.deepEqual(await world.drain(queue), ['one']);
  });

  for (const rel of ['receiving', 'poller']) {
    it(`A7 a body that is sent to ${rel} is refused with the link to post it to, and nothing is taken`, async () => {
      const queue = await world.queue();
      await world.post(queue, ['waiting']);
      const head = (await client.head(queue.address)).expect(200);
      const [address, postMessage] = [client.store(head.link(rel)), client.store(head.link('post-message'))];
      for (const [type, body] of [
        ['text/plain', 'meant for the queue'],
        ['application/x-www-form-urlencoded', 'max=1'],
        ['application/octet-stream', '\n'],
      ] as const) {
        const refused = await client.post(address, { headers: { 'content-type': type, 'accept-wait': '30' }, body });
        expectProblem(refused, 400);
        assert.equal(client.store(refused.link('post-message')), postMessage);
      }
      assert.equal((await client.get(queue.receiving)).expect(200).headers['delivery-count'], '0');
      assert.deepEqual(await world.drain(queue), ['waiting']);
    });

    it(`A7 an empty body at ${rel} is no body, however it is announced`, async () => {
      const queue = await world.queue();
      const address = client.store((await client.head(queue.address)).link(rel));
      const announcements: Record<string, string>[] = [
        { 'content-length': '0' },
        { 'content-length': '0', 'content-type': 'application/x-www-form-urlencoded' },
        { 'content-length': '0', 'content-type': 'application/json' },
        { 'transfer-encoding': 'chunked' },
      ];
      for (const [index, headers] of announcements.entries()) {
        await world.post(queue, [`m${index}`]);
        assert.equal((await client.post(address, { headers })).expect(200).text(), `m${index}`);
      }
    });
  }

  it('A7 each message is received once, however many receive at once', async () => {
    const queue = await world.queue();
    const posted = Array.from({ length: 40 }, (_, i) => `m${i}`);
    await world.post(queue, posted);
    const answers = await Promise.all(Array.from({ length: 60 }, () => client.post(queue.receiving)));
    const received = answers.filter(({ status }) => status === 200).map((answer) => answer.text());
    assert.deepEqual(received.sort(), posted.sort());
    assert.ok(answers.every(({ status }) => status === 200 || status === 204));
  });

  it('A7 a received message can still be read at its address', async () => {
    const queue = await world.queue();
    await world.post(queue, ['one']);
    const received = (await client.post(queue.receiving)).expect(200);
    const again = (await client.get(client.store(received.link('self')))).expect(200);
    assert.equal(again.text(), 'one');
    assert.equal(again.headers['message-state'], 'acknowledged');
  });

  it('A8 no message now is 204 with the links repeated, for POST, GET and HEAD', async () => {
    const queue = await world.queue();
    for (const method of ['POST', 'GET', 'HEAD']) {
      const answer = (await client.send(method, queue.receiving)).expect(204);
      assert.equal(client.store(answer.link('receiving')), queue.receiving, method);
      assert.equal(answer.body.length, 0);
      assert.equal(answer.headers['content-type'], undefined);
      assert.match(answer.headers['cache-control'] ?? '', /no-store/);
    }
  });

  it('A8 the repeated link works when a message has come', async () => {
    const queue = await world.queue();
    const empty = (await client.post(queue.receiving)).expect(204);
    await world.post(queue, ['come']);
    assert.equal((await client.post(empty.link('receiving'))).expect(200).text(), 'come');
  });

  it('A14 max gives up to so many messages as multipart/mixed, in order', async () => {
    const queue = await world.queue();
    const addresses = await world.post(queue, ['a', 'b', 'c', 'd', 'e']);
    const first = partsOf((await client.post(queue.receiving, { query: { max: 3 } })).expect(200));
    assert.deepEqual(texts(first), ['a', 'b', 'c']);
    const second = partsOf((await client.post(queue.receiving, { query: { max: 3 } })).expect(200));
    assert.deepEqual(texts(second), ['d', 'e']);
    const located = [...first, ...second].map(({ headers }) => client.store(headers['content-location'] ?? ''));
    assert.deepEqual(located, addresses);
    (await client.post(queue.receiving, { query: { max: 3 } })).expect(204);
  });

  it('A14 each part has its own fields and links', async () => {
    const queue = await world.queue();
    const link = '<http://replies.example/box>; rel="reply-to"';
    const headers = { 'content-type': 'text/x-one', 'x-mine': 'one', link };
    (await client.post(queue.address, { headers, body: 'one' })).expect(204);
    (await client.post(queue.address, { body: Buffer.from([0, 13, 10, 45, 45, 255]) })).expect(204);
    const answer = (await client.post(queue.receiving, { query: { max: 9 } })).expect(200);
    assert.match(answer.headers['cache-control'] ?? '', /no-store/);
    const [one, two, ...rest] = partsOf(answer);
    assert.ok(one && two && rest.length === 0);
    assert.equal(one.headers['content-type'], 'text/x-one');
    assert.equal(one.headers['x-mine'], 'one');
    const links = parseLinks(one.headers.link ?? '');
    const target = (rel: string) => links.find((each) => each.rel === rel)?.href ?? '';
    assert.equal(client.store(target('self')), client.store(one.headers['content-location'] ?? ''));
    assert.equal(client.store(target('generator')), queue.address);
    assert.equal(target('reply-to'), 'http://replies.example/box');
    assert.equal(two.headers['content-type'], undefined);
    assert.equal(two.headers['x-mine'], undefined);
    assert.deepEqual([...two.body], [0, 13, 10, 45, 45, 255]);
    for (const part of [one, two]) {
      assert.equal(part.headers['message-state'], 'acknowledged');
      assert.ok(part.headers['message-id'] && part.headers['message-posted']);
    }
  });

  it('A14 max=1 is a multipart of one, GET with max takes nothing', async () => {
    const queue = await world.queue();
    await world.post(queue, ['a', 'b']);
    const seen = partsOf((await client.get(queue.receiving, { query: { max: 5 } })).expect(200));
    assert.deepEqual(texts(seen), ['a', 'b']);
    assert.deepEqual(texts(partsOf((await client.post(queue.receiving, { query: { max: 1 } })).expect(200))), ['a']);
    assert.deepEqual(await world.drain(queue), ['b']);
  });

  it('A14 priority and persistence order a batch as they order single messages', async () => {
    const queue = await world.queue();
    await world.post(queue, ['b'], { persistent: 'false' });
    await world.post(queue, ['c']);
    await world.post(queue, ['a'], { priority: 9, persistent: 'false' });
    const parts = partsOf((await client.post(queue.receiving, { query: { max: 10 } })).expect(200));
    assert.deepEqual(texts(parts), ['a', 'b', 'c']);
  });

  it('A14 a max that cannot be read is 400 and takes nothing', async () => {
    const queue = await world.queue();
    await world.post(queue, ['x']);
    for (const max of ['0', '-1', 'all', '1.5', '', '100000000']) {
      expectProblem(await client.post(queue.receiving, { query: { max } }), 400);
    }
    assert.deepEqual(await world.drain(queue), ['x']);
  });

  it('A14 max and a wait go together: the first message ends it', async () => {
    const queue = await world.queue();
    const waiting = await world.startWaiting('POST', queue.receiving, { query: { max: 10 } });
    await world.post(queue, ['x']);
    assert.deepEqual(texts(partsOf((await waiting.answer).expect(200))), ['x']);
  });
}
