import assert from 'node:assert/strict';
import { it } from 'node:test';
import { allowed, expectAbsolute, expectProblem } from '../expect.ts';
import { follow, freshLink, linkOf, sendText, textBatch, uriList } from '../steps.ts';
import type { Destination, World } from '../world.ts';
import { forge } from './once-only.ts';

const RACERS = 16;

export function onceOnlyBatches(world: World): void {
  const { client } = world;
  const fresh = (to: Destination) => freshLink(world, to, 'post-batch-once');

  it('A13 an empty POST to post-batch-once gives a create-next link; a batch posted there is 400', async () => {
    const queue = await world.queue();
    const once = await follow(world, queue, 'post-batch-once');
    const answer = (await client.post(once)).expect(200);
    expectAbsolute(answer.link('create-next'), 'create-next');
    assert.match(expectProblem(await client.post(once, textBatch(['x'])), 400).detail, /create-next/);
    assert.deepEqual(await world.drain(queue), []);
  });

  it('A13 unused: 200 with the uri-list in order and a new create-next; used: 405 with Allow and another', async () => {
    for (const to of [await world.queue(), await world.topic()]) {
      const link = await fresh(to);
      const first = (await client.post(link, textBatch(['a', 'b', 'c']))).expect(200);
      const messages = uriList(client, first);
      const texts = await Promise.all(messages.map(async (each) => (await client.get(each)).expect(200).text()));
      assert.deepEqual(texts, ['a', 'b', 'c']);
      const again = await client.post(link, textBatch(['a', 'b', 'c']));
      expectProblem(again, 405);
      assert.ok(!allowed(again).includes('POST'), `Allow: ${again.headers.allow}`);
      assert.deepEqual(allowed(await client.send('OPTIONS', link)), allowed(again));
      const links = [linkOf(client, first, 'create-next'), linkOf(client, again, 'create-next')];
      assert.equal(new Set([link, ...links]).size, 3);
      for (const next of links) (await client.post(next, textBatch(['d']))).expect(200);
    }
  });

  it('A13 GET on a used link gives the uri-list again, on every node and after the messages were received', async () => {
    const queue = await world.queue();
    const link = await fresh(queue);
    assert.ok((await client.get(link)).status < 300);
    const messages = uriList(client, (await client.post(link, textBatch(['a', 'b']))).expect(200));
    for (const _ of client.bases) assert.deepEqual(uriList(client, (await client.get(link)).expect(200)), messages);
    assert.deepEqual(await world.drain(queue), ['a', 'b']);
    assert.deepEqual(uriList(client, (await client.get(link)).expect(200)), messages);
  });

  it('A13 used is used, whatever the second body', async () => {
    const queue = await world.queue();
    const link = await fresh(queue);
    (await client.post(link, textBatch(['a']))).expect(200);
    const others = [{}, { body: 'no batch' }, { headers: { 'content-type': 'application/atom+xml' }, body: '<feed' }];
    for (const options of [...others, textBatch(['other', 'texts'])]) {
      const answer = await client.post(link, options);
      expectProblem(answer, 405);
      assert.ok(answer.has('create-next'));
    }
    assert.deepEqual(await world.drain(queue), ['a']);
  });

  it(`A13 of ${RACERS} batches that race for one link, one is stored whole, the rest get 405 with links that work`, async () => {
    const queue = await world.queue();
    const link = await fresh(queue);
    const batches = Array.from({ length: RACERS }, (_, i) => [`${i} a`, `${i} b`]);
    const answers = await Promise.all(batches.map((texts) => client.post(link, textBatch(texts))));
    const winner = answers.findIndex(({ status }) => status === 200);
    assert.deepEqual(
      answers.map(({ status }) => status),
      answers.map((_, i) => (i === winner ? 200 : 405)),
    );
    assert.deepEqual(await world.drain(queue), batches[winner]);
    const nexts = answers.map((answer) => linkOf(client, answer, 'create-next'));
    assert.equal(new Set(nexts).size, RACERS);
    for (const answer of await Promise.all(nexts.map((next) => client.post(next, textBatch(['later']))))) {
      answer.expect(200);
    }
    assert.equal((await world.drain(queue)).length, RACERS);
  });

  it('A13 a chain of batches stores each once and in order', async () => {
    const queue = await world.queue();
    let link = await fresh(queue);
    const all: string[] = [];
    for (let i = 0; i < 12; i++) {
      const texts = [`${i} a`, `${i} b`];
      const first = (await client.post(link, textBatch(texts))).expect(200);
      const again = (await client.post(link, textBatch(texts))).expect(405);
      all.push(...texts);
      link = linkOf(client, i % 2 === 0 ? first : again, 'create-next');
    }
    assert.deepEqual(await world.drain(queue), all);
  });

  it('A13 a batch that is refused does not use the link up', async () => {
    const queue = await world.queue();
    const link = await fresh(queue);
    expectProblem(await client.post(link, { headers: { 'content-type': 'text/plain' }, body: 'x' }), 415);
    const feed = '<feed xmlns="http://www.w3.org/2005/Atom"><entry><content>a</content></entry><entry/></feed>';
    expectProblem(await client.post(link, { headers: { 'content-type': 'application/atom+xml' }, body: feed }), 422);
    assert.deepEqual(await world.drain(queue), []);
    (await client.post(link, textBatch(['a', 'b']))).expect(200);
    assert.deepEqual(await world.drain(queue), ['a', 'b']);
  });

  it('A13 a forged link is 404, and a link for messages takes no batch', async () => {
    const queue = await world.queue();
    const link = await fresh(queue);
    expectProblem(await client.post(forge(link), textBatch(['x'])), 404);
    expectProblem(await client.get(forge(link)), 404);
    // A multipart body is content like any other where one message is posted.
    const batch = textBatch(['x', 'y']);
    const posted = (await client.post(await freshLink(world, queue), batch)).expect(200);
    assert.deepEqual((await client.get(posted.headers['content-location'] ?? '')).body, batch.body);
    expectProblem(await sendText(client, link, 'x'), 415);
    assert.equal((await world.drain(queue)).length, 1);
  });

  it('G4 an Accept that cannot be served loses neither the batch nor the link', async () => {
    const queue = await world.queue();
    const link = await fresh(queue);
    const { body, headers } = textBatch(['a']);
    const options = { ...(body === undefined ? {} : { body }), headers: { ...headers, accept: 'image/png' } };
    const first = (await client.post(link, options)).expect(200, 406);
    (await client.post(link, textBatch(['a']))).expect(first.status === 200 ? 405 : 200);
    assert.deepEqual(await world.drain(queue), ['a']);
  });
}
