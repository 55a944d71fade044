import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Address } from '../client.ts';
import { allowed, expectAbsolute, expectProblem, expectXmlProblem } from '../expect.ts';
import { createNext, follow, freshLink, linkOf, sendText } from '../steps.ts';
import type { Destination, World } from '../world.ts';

const RACERS = 16;

/** A link of the same form that the service never made: another letter near its end, where a signature stands. */
export function forge(link: Address): Address {
  const at = link.length - 5;
  return `${link.slice(0, at)}${link[at] === 'A' ? 'B' : 'A'}${link.slice(at + 1)}`;
}

export function onceOnly(world: World): void {
  const { client } = world;
  const kinds = ['queue', 'topic'] as const;
  const make = (kind: 'queue' | 'topic'): Promise<Destination> => (kind === 'queue' ? world.queue() : world.topic());

  /** What a destination holds, without taking it. */
  async function held(at: Destination): Promise<number> {
    const { counts } = (await client.get(at.address)).expect(200).json<{ counts: Record<string, number> }>();
    return counts.available ?? counts.retained ?? 0;
  }

  for (const kind of kinds) {
    it(`A12 ${kind}: an empty POST to post-message-once gives a create-next link and stores nothing`, async () => {
      const to = await make(kind);
      const answer = (await client.post(await follow(world, to, 'post-message-once'))).expect(200);
      expectAbsolute(answer.link('create-next'), 'create-next');
      assert.equal(await held(to), 0);
    });

    it(`A12 ${kind}: unused, POST of a message: 200, a new create-next, Content-Location of the message`, async () => {
      const to = await make(kind);
      const link = await freshLink(world, to);
      const headers = { 'content-type': 'text/x-note', 'x-mine': 'yes' };
      const answer = (await client.post(link, { headers, body: 'hello' })).expect(200);
      expectAbsolute(answer.link('create-next'), 'create-next');
      assert.notEqual(linkOf(client, answer, 'create-next'), link);
      expectAbsolute(answer.headers['content-location'], 'Content-Location');
      const message = (await client.get(client.store(answer.headers['content-location']))).expect(200);
      assert.equal(message.text(), 'hello');
      assert.equal(message.headers['content-type'], 'text/x-note');
      assert.equal(message.headers['x-mine'], 'yes');
      assert.equal(await held(to), 1);
    });

    it(`G6 A12 ${kind}: OPTIONS names POST on a link as long as it can be used, and not after`, async () => {
      const link = await freshLink(world, await make(kind));
      const before = (await client.send('OPTIONS', link)).expect(204);
      assert.ok(allowed(before).includes('POST'), `Allow: ${before.headers.allow}`);
      (await sendText(client, link, 'one')).expect(200);
      const used = (await client.send('OPTIONS', link)).expect(204);
      assert.deepEqual(allowed(used), allowed(await sendText(client, link, 'one')));
      assert.ok(!allowed(used).includes('POST'), `Allow: ${used.headers.allow}`);
      assert.equal(used.headers['accept-post'], undefined);
      assert.deepEqual(allowed(await client.send('PUT', link)), allowed(used));
    });

    it(`A12 ${kind}: used, POST again: 405 with Allow and a new create-next that works`, async () => {
      const to = await make(kind);
      const link = await freshLink(world, to);
      const first = (await sendText(client, link, 'one')).expect(200);
      const again = await sendText(client, link, 'one');
      expectProblem(again, 405);
      assert.ok(!allowed(again).includes('POST'), `Allow: ${again.headers.allow}`);
      const [next, other] = [linkOf(client, first, 'create-next'), linkOf(client, again, 'create-next')];
      assert.equal(new Set([link, next, other]).size, 3, 'each link is another');
      assert.equal(await held(to), 1);
      (await sendText(client, other, 'two')).expect(200);
      (await sendText(client, next, 'three')).expect(200);
      assert.equal(await held(to), 3);
    });

    it(`A12 ${kind}: GET on a used link is 303 to the message, on an unused one neither that nor an error`, async () => {
      const to = await make(kind);
      const link = await freshLink(world, to);
      const unused = await client.get(link);
      assert.ok(unused.status < 300, `${unused.asked} answered ${unused.status}`);
      const posted = (await sendText(client, link, 'one')).expect(200);
      for (const _ of client.bases) {
        const looked = (await client.get(link)).expect(303);
        assert.equal(
          client.store(looked.headers.location ?? ''),
          client.store(posted.headers['content-location'] ?? ''),
        );
        (await client.head(link)).expect(303);
      }
      assert.equal((await client.get(client.store((await client.get(link)).headers.location ?? ''))).text(), 'one');
      assert.equal(await held(to), 1);
    });

    it(`A12 ${kind}: of ${RACERS} posts that race for one link, one gets 200, the rest 405 with links that work`, async () => {
      const to = await make(kind);
      const link = await freshLink(world, to);
      const answers = await Promise.all(Array.from({ length: RACERS }, (_, i) => sendText(client, link, `racer ${i}`)));
      const winners = answers.filter(({ status }) => status === 200);
      assert.equal(winners.length, 1);
      for (const answer of answers) answer.expect(200, 405);
      assert.equal(await held(to), 1);
      const winner = answers.findIndex(({ status }) => status === 200);
      const kept = await client.get(client.store(winners[0]?.headers['content-location'] ?? ''));
      assert.equal(kept.expect(200).text(), `racer ${winner}`);
      const nexts = answers.map((answer) => linkOf(client, answer, 'create-next'));
      assert.equal(new Set(nexts).size, RACERS, 'no two hold the same link');
      const seconds = await Promise.all(nexts.map((next, i) => sendText(client, next, `second ${i}`)));
      for (const answer of seconds) answer.expect(200);
      assert.equal(await held(to), 1 + RACERS);
    });
  }

  it('A12 used is used, whatever the second body, its type and its fields', async () => {
    const queue = await world.queue();
    const link = await freshLink(world, queue);
    (await sendText(client, link, 'one')).expect(200);
    const others = [
      {},
      { body: '' },
      { body: 'another' },
      { headers: { 'content-type': 'application/json' }, body: '{' },
      { headers: { 'content-type': 'multipart/mixed' }, body: 'no parts' },
      { headers: { link: '<unreadable' }, body: 'one' },
      { headers: { 'x-other': 'field' }, body: Buffer.alloc(100_000) },
    ];
    for (const options of others) {
      const answer = await client.post(link, options);
      expectProblem(answer, 405);
      assert.ok(answer.has('create-next'), answer.asked);
    }
    assert.deepEqual(await world.drain(queue), ['one']);
  });

  it('A12 used stays used after the message was received, and after it was deleted', async () => {
    const queue = await world.queue();
    const [first, second] = [await freshLink(world, queue), await freshLink(world, queue)];
    (await sendText(client, first, 'one')).expect(200);
    assert.deepEqual(await world.drain(queue), ['one']);
    (await sendText(client, first, 'one')).expect(405);
    const posted = (await sendText(client, second, 'two')).expect(200);
    (await client.delete(client.store(posted.headers['content-location'] ?? ''))).expect(204);
    (await sendText(client, second, 'two')).expect(405);
    assert.deepEqual(await world.drain(queue), []);
  });

  it('A12 a chain of posts, each to the link of the answer before, stores each once and in order', async () => {
    const queue = await world.queue();
    const texts = Array.from({ length: 40 }, (_, i) => `m${i}`);
    let link = await freshLink(world, queue);
    const used: Address[] = [];
    for (const text of texts) {
      const answer = (await sendText(client, link, text)).expect(200);
      used.push(link);
      link = linkOf(client, answer, 'create-next');
    }
    assert.equal(new Set(used).size, texts.length);
    for (const old of [used[0], used[7], used.at(-1)]) (await sendText(client, old ?? '', 'again')).expect(405);
    assert.deepEqual(await world.drain(queue), texts);
  });

  it('A12 a client that repeats every post, as after lost answers, stores each message once', async () => {
    const queue = await world.queue();
    const texts = Array.from({ length: 12 }, (_, i) => `m${i}`);
    let link = await freshLink(world, queue);
    for (const [i, text] of texts.entries()) {
      const first = (await sendText(client, link, text)).expect(200);
      const again = (await sendText(client, link, text)).expect(405);
      // Both answers carry a link to go on with.
      link = linkOf(client, i % 2 === 0 ? first : again, 'create-next');
    }
    assert.deepEqual(await world.drain(queue), texts);
  });

  it('A12 links of one destination are independent of each other', async () => {
    const queue = await world.queue();
    const once = await follow(world, queue, 'post-message-once');
    const links = await Promise.all(Array.from({ length: 10 }, () => createNext(client, once)));
    assert.equal(new Set(links).size, links.length);
    for (const [i, link] of [...links].reverse().entries()) (await sendText(client, link, `m${i}`)).expect(200);
    assert.equal((await world.drain(queue)).length, links.length);
  });

  it('A12 an empty message is a message', async () => {
    const queue = await world.queue();
    const link = await freshLink(world, queue);
    (await client.post(link)).expect(200);
    (await client.post(link)).expect(405);
    assert.deepEqual(await world.drain(queue), ['']);
  });

  it('A12 a forged link is 404 for POST and GET and stores nothing', async () => {
    const queue = await world.queue();
    const link = await freshLink(world, queue);
    for (const forged of [forge(link), `${link}A`, link.slice(0, -1), `${link.slice(0, -10)}AAAAAAAAAA`]) {
      expectProblem(await sendText(client, forged, 'x'), 404);
      expectProblem(await client.get(forged), 404);
    }
    assert.deepEqual(await world.drain(queue), []);
    (await sendText(client, link, 'real')).expect(200);
  });

  it('A12 a body posted to post-message-once itself is 400, says how the pattern goes, and stores nothing', async () => {
    for (const kind of kinds) {
      const to = await make(kind);
      const problem = expectProblem(await sendText(client, await follow(world, to, 'post-message-once'), 'x'), 400);
      assert.match(problem.detail, /create-next/);
      assert.equal(await held(to), 0);
    }
  });

  it('A12 a post that is refused does not use the link up', async () => {
    const queue = await world.queue({ 'max-length': 1 });
    await world.post(queue, ['full']);
    const link = await freshLink(world, queue);
    expectProblem(await client.post(link, { body: 'x', query: { priority: 11 } }), 400);
    expectProblem(await client.post(link, { headers: { link: '<unreadable' }, body: 'x' }), 400);
    expectProblem(await sendText(client, link, 'x'), 409);
    assert.deepEqual(await world.drain(queue), ['full']);
    (await sendText(client, link, 'now')).expect(200);
    assert.deepEqual(await world.drain(queue), ['now']);
  });

  it('A12 a once-only post wakes who waits', async () => {
    const queue = await world.queue();
    const link = await freshLink(world, queue);
    const waiting = await world.startWaiting('POST', queue.receiving);
    (await sendText(client, link, 'awake')).expect(200);
    assert.equal((await waiting.answer).expect(200).text(), 'awake');
  });

  it('A12 used stays used after its queue was deleted, and a repetition does not bring the queue back', async () => {
    const queue = await world.queue();
    const link = await freshLink(world, queue);
    (await sendText(client, link, 'one')).expect(200);
    (await client.delete(queue.address, { query: { force: 'true' } })).expect(204);
    for (const _ of client.bases) expectProblem(await sendText(client, link, 'one'), 405);
    (await client.get(queue.address)).expect(404);
    (await client.put(queue.address)).expect(201);
    expectProblem(await sendText(client, link, 'one'), 405);
    assert.deepEqual(await world.drain(queue), []);
  });

  it('A12 used is 405 also when the queue is full by now', async () => {
    const queue = await world.queue({ 'max-length': 1 });
    const link = await freshLink(world, queue);
    (await sendText(client, link, 'fills it')).expect(200);
    expectProblem(await sendText(client, link, 'fills it'), 405);
    (await sendText(client, link, 'larger than what filled it')).expect(405);
    assert.deepEqual(await world.drain(queue), ['fills it']);
  });

  it('A12 a problem in XML has the create-next link, too', async () => {
    const queue = await world.queue();
    const link = await freshLink(world, queue);
    const headers = { accept: 'application/xml' };
    (await sendText(client, link, 'one', { headers })).expect(200);
    const again = await sendText(client, link, 'one', { headers });
    expectXmlProblem(again, 405);
    assert.ok(again.has('create-next'));
  });
}
