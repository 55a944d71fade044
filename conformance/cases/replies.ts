import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Address, Answer } from '../client.ts';
import { expectAbsolute } from '../expect.ts';
import { parseLinks } from '../links.ts';
import { createNext, follow, partLink, partsOf, poll, sendText, settle, textBatch } from '../steps.ts';
import type { Destination, World } from '../world.ts';

const WAYS = ['reply-to', 'reply-to-once', 'reply-to-batch', 'reply-to-batch-once'] as const;

export function replies(world: World): void {
  const { client } = world;

  /** As a client of the first node writes it. Nodes need not know each other's addresses, so it asks there, too. */
  const absolute = ({ address }: { address: Address }): string => `${client.bases[0]}${address}`;
  async function ask(to: Destination, replyTo: string): Promise<void> {
    const headers = { link: `<${replyTo}>; rel="reply-to"`, 'correlation-id': '7' };
    (await sendText(client, absolute(to), 'what?', { headers })).expect(204);
  }

  it('A18 a request and its reply: the round trip', async () => {
    const [questions, box] = [await world.queue(), await world.queue()];
    const waiting = await world.startWaiting('POST', box.receiving);
    await ask(questions, absolute(box));
    const question = await poll(world, questions);
    assert.equal(question.text, 'what?');
    const headers = { 'correlation-id': question.answer.headers['correlation-id'] ?? '' };
    const reply = await sendText(client, client.store(question.answer.link('reply-to')), '42', { headers });
    reply.expect(201, 204);
    (await settle(client, question.acknowledgement, { acknowledge: 'true' })).expect(204);
    const answer = (await waiting.answer).expect(200);
    assert.equal(answer.text(), '42');
    assert.equal(answer.headers['correlation-id'], '7');
  });

  it('A18 the receiver gets all four relations, wherever it meets the message', async () => {
    const [queue, topic, box] = [await world.queue(), await world.topic(), await world.queue()];
    const next = await follow(world, topic, 'next');
    await ask(queue, absolute(box));
    await ask(topic, absolute(box));
    const looked = (await client.get(queue.receiving)).expect(200);
    const met: Record<string, Answer> = {
      'GET receiving': looked,
      'the message': await client.get(client.store(looked.link('self'))),
      poller: (await poll(world, queue)).answer,
      next: await client.get(next),
      'the topic’s message': await client.get(client.store((await client.get(next)).link('self'))),
    };
    await ask(queue, absolute(box));
    met.receiving = await client.post(queue.receiving);
    for (const [where, answer] of Object.entries(met)) {
      for (const rel of WAYS) {
        expectAbsolute(answer.expect(200).link(rel), `${where}: ${rel}`);
        assert.equal(answer.links.filter((link) => link.rel === rel).length, 1, `${where}: ${rel} stands once`);
      }
      assert.equal(client.store(answer.link('reply-to')), box.address, where);
    }
    const [part] = partsOf((await client.get(next, { query: { max: 1 } })).expect(200));
    assert.ok(part);
    for (const rel of WAYS) expectAbsolute(partLink(part, rel), `part: ${rel}`);
  });

  for (const kind of ['queue', 'topic'] as const) {
    it(`A18 each of the four relations works, with a ${kind} for the answers`, async () => {
      const questions = await world.queue();
      const box = kind === 'queue' ? await world.queue() : await world.topic();
      const from = kind === 'topic' ? await follow(world, box, 'next') : '';
      await ask(questions, absolute(box));
      const { answer: question } = await poll(world, questions);
      const link = (rel: string) => client.store(question.link(rel));
      (await sendText(client, link('reply-to'), 'one')).expect(201, 204);
      const once = await createNext(client, link('reply-to-once'));
      (await sendText(client, once, 'two')).expect(200);
      (await sendText(client, once, 'two')).expect(405);
      (await client.post(link('reply-to-batch'), textBatch(['three', 'four']))).expect(201);
      const batchOnce = await createNext(client, link('reply-to-batch-once'));
      (await client.post(batchOnce, textBatch(['five']))).expect(200);
      (await client.post(batchOnce, textBatch(['five']))).expect(405);
      const texts = ['one', 'two', 'three', 'four', 'five'];
      if (kind === 'queue') assert.deepEqual(await world.drain(await world.queueAt(box.name)), texts);
      else {
        const parts = partsOf((await client.get(from, { query: { max: 10 } })).expect(200));
        assert.deepEqual(
          parts.map(({ body }) => body.toString()),
          texts,
        );
      }
    });
  }

  it('A18 a post-message link is a destination of this service, too', async () => {
    const [questions, box] = [await world.queue(), await world.queue()];
    await ask(questions, (await client.head(absolute(box))).link('post-message'));
    const { answer } = await poll(world, questions);
    for (const rel of WAYS) assert.ok(answer.has(rel), rel);
    (await sendText(client, client.store(answer.link('reply-to')), 'x')).expect(201);
    assert.deepEqual(await world.drain(box), ['x']);
  });

  it('A18 answers may go to a queue that is not there yet', async () => {
    const questions = await world.queue();
    const name = world.name('box');
    const address = await world.address('queue', name);
    await ask(questions, absolute({ address }));
    const { answer } = await poll(world, questions);
    const once = await createNext(client, client.store(answer.link('reply-to-once')));
    (await sendText(client, once, 'x')).expect(200);
    assert.deepEqual(await world.drain(await world.queueAt(name)), ['x']);
  });

  it('G3 whoever reads the message on another node gets links of that node', async () => {
    const [questions, box] = [await world.queue(), await world.queue()];
    await ask(questions, absolute(box));
    for (const base of client.bases) {
      const answer = (await client.get(`${base}${questions.receiving}`)).expect(200);
      for (const rel of WAYS) assert.ok(answer.link(rel).startsWith(`${base}/`), `${rel}: ${answer.link(rel)}`);
    }
  });

  it('A18 a way to reply that the sender names itself is the only one of its kind', async () => {
    const [questions, box, other] = [await world.queue(), await world.queue(), await world.queue()];
    const once = (await client.head(absolute(other))).expect(200).link('post-message-once');
    const link = `<${absolute(box)}>; rel="reply-to", <${once}>; rel="reply-to-once"`;
    (await sendText(client, absolute(questions), 'what?', { headers: { link } })).expect(204);
    const { answer } = await poll(world, questions);
    for (const rel of WAYS) assert.equal(answer.links.filter((each) => each.rel === rel).length, 1, rel);
    const next = await createNext(client, client.store(answer.link('reply-to-once')));
    (await sendText(client, next, '42')).expect(200);
    assert.deepEqual(await world.drain(other), ['42']);
    assert.deepEqual(await world.drain(box), []);
  });

  it('A18 a target elsewhere is handed on as it is, and nothing is added', async () => {
    const questions = await world.queue();
    await ask(questions, 'https://elsewhere.example/replies?to=me');
    const { answer } = await poll(world, questions);
    assert.equal(answer.link('reply-to'), 'https://elsewhere.example/replies?to=me');
    for (const rel of WAYS.slice(1)) assert.ok(!answer.has(rel), rel);
  });

  it('A18 every way of posting carries the reply-to', async () => {
    const [questions, box] = [await world.queue(), await world.queue()];
    const link = `<${absolute(box)}>; rel="reply-to"`;
    const head = await client.head(absolute(questions));
    const headers = { link };
    (await sendText(client, head.link('post-message'), 'a', { headers })).expect(201);
    const once = await client.post(head.link('post-message-once'));
    (await sendText(client, once.expect(200).link('create-next'), 'b', { headers })).expect(200);
    (await client.put(absolute({ address: questions.message('own') }), { headers, body: 'c' })).expect(201);
    const body = `--cut\r\nLink: ${link}\r\n\r\nd\r\n--cut--\r\n`;
    const batch = { headers: { 'content-type': 'multipart/mixed; boundary=cut' }, body };
    (await client.post(head.link('post-batch'), batch)).expect(201);
    const batchOnce = await client.post(head.link('post-batch-once'));
    (await client.post(batchOnce.expect(200).link('create-next'), batch)).expect(200);
    const parts = partsOf((await client.post(questions.receiving, { query: { max: 10 } })).expect(200));
    assert.equal(parts.length, 5);
    for (const part of parts) {
      const rels = parseLinks(part.headers.link ?? '').map(({ rel }) => rel);
      for (const rel of WAYS) assert.ok(rels.includes(rel), `${part.body}: ${rel}`);
      assert.equal(client.store(partLink(part, 'reply-to')), box.address);
    }
  });
}
