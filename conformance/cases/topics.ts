import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Address } from '../client.ts';
import { expectAbsolute, expectProblem, lastingFields } from '../expect.ts';
import { countsOf, follow, partLink, partsOf, textsOf } from '../steps.ts';
import type { Destination, World } from '../world.ts';

export function topics(world: World): void {
  const { client } = world;

  /** Follows `next` until there is nothing more; gives the texts. */
  async function readOn(from: Address): Promise<string[]> {
    const texts: string[] = [];
    for (let at = from; texts.length < 1000; ) {
      const answer = (await client.get(at)).expect(200, 204);
      if (answer.status === 204) return texts;
      texts.push(answer.text());
      at = client.store(answer.link('next'));
    }
    throw new Error('the topic does not end');
  }
  const end = (topic: Destination, rel: 'first' | 'last') => follow(world, topic, rel);

  it('A17 next of the topic: the first message posted after the link was handed out', async () => {
    const topic = await world.topic();
    await world.post(topic, ['before']);
    const next = await follow(world, topic, 'next');
    (await client.get(next)).expect(204);
    const [message] = await world.post(topic, ['after', 'later']);
    const answer = (await client.get(next)).expect(200);
    assert.equal(answer.text(), 'after');
    expectAbsolute(answer.headers['content-location'], 'Content-Location');
    assert.equal(client.store(answer.headers['content-location']), message);
    assert.equal(client.store(answer.link('self')), message);
    assert.equal(client.store(answer.link('generator')), topic.address);
  });

  it('A17 next of the topic’s document and of its HEAD are the same place', async () => {
    const topic = await world.topic();
    const [head, got] = [await client.head(topic.address), await client.get(topic.address)];
    await world.post(topic, ['x']);
    for (const answer of [head, got]) {
      assert.equal((await client.get(client.store(answer.link('next')))).expect(200).text(), 'x');
    }
  });

  it('A17 next of a message: the one after it, also from the message’s own address', async () => {
    const topic = await world.topic();
    const [one = '', two = ''] = await world.post(topic, ['one', 'two']);
    const delivered = (await client.get(await end(topic, 'first'))).expect(200);
    const message = (await client.get(one)).expect(200);
    for (const answer of [delivered, message]) {
      const after = (await client.get(client.store(answer.link('next')))).expect(200);
      assert.equal(client.store(after.headers['content-location'] ?? ''), two);
    }
  });

  it('A17 first is the oldest, last the newest', async () => {
    const topic = await world.topic();
    const addresses = await world.post(topic, ['one', 'two', 'three']);
    for (const [rel, text, address] of [
      ['first', 'one', addresses[0]],
      ['last', 'three', addresses[2]],
    ] as const) {
      const answer = (await client.get(await end(topic, rel))).expect(200);
      assert.equal(answer.text(), text);
      assert.equal(client.store(answer.headers['content-location'] ?? ''), address);
      assert.ok(answer.has('next'));
    }
    await world.post(topic, ['four']);
    assert.equal((await client.get(await end(topic, 'last'))).text(), 'four');
    assert.equal((await client.get(await end(topic, 'first'))).text(), 'one');
  });

  it('A8 first and last of an empty topic: 204 with the links repeated, and their next misses nothing', async () => {
    const topic = await world.topic();
    const answers = [];
    for (const rel of ['first', 'last'] as const) {
      const answer = (await client.get(await end(topic, rel))).expect(204);
      for (const each of ['first', 'last', 'next']) assert.ok(answer.has(each), `${rel}: ${each}`);
      answers.push(answer);
    }
    await world.post(topic, ['x']);
    for (const answer of answers) {
      assert.equal((await client.get(client.store(answer.link('next')))).expect(200).text(), 'x');
    }
  });

  it('A8 a 204 from next repeats that same next href', async () => {
    const topic = await world.topic();
    const fromTopic = (await client.head(topic.address)).link('next');
    assert.equal((await client.get(fromTopic)).expect(204).link('next'), fromTopic);
    await world.post(topic, ['x']);
    const fromMessage = (await client.get(fromTopic)).expect(200).link('next');
    for (let i = 0; i < 3; i++) assert.equal((await client.get(fromMessage)).expect(204).link('next'), fromMessage);
    await world.post(topic, ['y']);
    assert.equal((await client.get(fromMessage)).expect(200).text(), 'y');
  });

  it('A17 first, then next, visits every message once, in order, on whatever node', async () => {
    const topic = await world.topic();
    const texts = Array.from({ length: 25 }, (_, i) => `m${i}`);
    for (const [i, text] of texts.entries()) await world.post(topic, [text], { persistent: String(i % 4 !== 0) });
    assert.deepEqual(await readOn(await end(topic, 'first')), texts);
  });

  it('A17 reading changes nothing: the same link gives the same message again, to everyone', async () => {
    const topic = await world.topic();
    const next = await follow(world, topic, 'next');
    await world.post(topic, ['one', 'two']);
    for (let i = 0; i < 4; i++) assert.equal((await client.get(next)).expect(200).text(), 'one');
    assert.deepEqual(await countsOf(client, topic), { retained: 2 });
    expectProblem(await client.post(next), 405);
  });

  it('A17 HEAD has the fields of GET', async () => {
    const topic = await world.topic();
    await world.post(topic, ['one', 'two']);
    const head = await client.head(topic.address);
    const first = (await client.get(head.link('first'))).expect(200);
    for (const url of [head.link('first'), head.link('last'), first.link('next'), head.link('next')]) {
      const [headed, got] = [await client.head(url), await client.get(url)];
      assert.equal(headed.status, got.status);
      assert.deepEqual(lastingFields(headed), lastingFields(got), url);
    }
  });

  it('A17 a next that the service never gave is 404', async () => {
    const topic = await world.topic();
    await world.post(topic, ['x']);
    const next = await follow(world, topic, 'next');
    for (const forged of [`${next}0`, next.slice(0, -1), `${next.slice(0, -1)}${next.endsWith('a') ? 'b' : 'a'}`]) {
      expectProblem(await client.get(forged), 404);
    }
  });

  it('A11 first, last and next are not to be kept; the message at its own address may be for ever', async () => {
    const topic = await world.topic();
    const next = await follow(world, topic, 'next');
    const [message = ''] = await world.post(topic, ['x']);
    for (const address of [next, await end(topic, 'first'), await end(topic, 'last')]) {
      assert.match((await client.get(address)).expect(200).headers['cache-control'] ?? '', /no-store/);
    }
    const answer = (await client.get(message)).expect(200);
    assert.equal(answer.headers['cache-control'], 'max-age=31536000, immutable');
    assert.match(answer.headers.etag ?? '', /^"[^"]+"$/);
  });

  it('A11 a message of a topic is immutable: the same ETag for ever and on every node, 304 to who has it', async () => {
    const topic = await world.topic();
    const [one = '', two = ''] = await world.post(topic, ['x', 'x']);
    const { etag = '' } = (await client.get(one)).expect(200).headers;
    assert.notEqual((await client.get(two)).headers.etag, etag, 'another message has another');
    for (const _ of client.bases) {
      assert.equal((await client.get(one)).headers.etag, etag);
      for (const method of ['GET', 'HEAD']) {
        const answer = (await client.send(method, one, { headers: { 'if-none-match': etag } })).expect(304);
        assert.equal(answer.body.length, 0);
        assert.equal(answer.headers.etag, etag);
      }
      (await client.get(one, { headers: { 'if-none-match': `"other", W/${etag}` } })).expect(304);
      (await client.get(one, { headers: { 'if-none-match': '*' } })).expect(304);
      (await client.get(one, { headers: { 'if-none-match': '"other"' } })).expect(200);
    }
  });

  it('A17 max gives up to so many, each part with its own next, and the answer’s next is behind the last', async () => {
    const topic = await world.topic();
    const next = await follow(world, topic, 'next');
    const addresses = await world.post(topic, ['a', 'b', 'c', 'd', 'e']);
    const answer = (await client.get(next, { query: { max: 3 } })).expect(200);
    const parts = partsOf(answer);
    assert.deepEqual(textsOf(answer), ['a', 'b', 'c']);
    assert.deepEqual(
      parts.map(({ headers }) => client.store(headers['content-location'] ?? '')),
      addresses.slice(0, 3),
    );
    const [a, , c] = parts;
    assert.ok(a && c);
    assert.equal((await client.get(client.store(partLink(a, 'next')))).text(), 'b');
    assert.equal((await client.get(client.store(partLink(c, 'next')))).text(), 'd');
    const rest = (await client.get(client.store(answer.link('next')), { query: { max: 3 } })).expect(200);
    assert.deepEqual(textsOf(rest), ['d', 'e']);
    (await client.get(client.store(rest.link('next')), { query: { max: 3 } })).expect(204);
    for (const max of ['0', '-1', 'all', '1.5']) expectProblem(await client.get(next, { query: { max } }), 400);
  });

  it('A17 a position older than what is retained continues at the oldest, with Link first to say so', async () => {
    const topic = await world.topic({ retention: 0.5 });
    const next = await follow(world, topic, 'next');
    const [, gone = ''] = await world.post(topic, ['old', 'older than retained']);
    await world.until('the old ones are gone', async () => (await client.get(gone)).status !== 200);
    expectProblem(await client.get(gone), 404, 410);
    assert.equal((await client.get(next)).expect(204).has('next'), true);
    (await client.put(topic.address, { headers: { 'content-type': 'application/json' }, body: '{}' })).expect(200);
    await world.post(topic, ['kept', 'newer']);
    const answer = (await client.get(next)).expect(200);
    assert.equal(answer.text(), 'kept');
    assert.ok(answer.has('first'), 'Link first says that something was skipped');
    assert.equal((await client.get(client.store(answer.link('first')))).expect(200).text(), 'kept');
    const several = (await client.get(next, { query: { max: 5 } })).expect(200);
    assert.deepEqual(textsOf(several), ['kept', 'newer']);
    assert.ok(several.has('first'));
    const after = (await client.get(client.store(answer.link('next')))).expect(200);
    assert.equal(after.text(), 'newer');
    assert.ok(!after.has('first'), 'nothing was skipped here');
  });

  it('A17 a delayed message appears when its time has come, behind what was there, and no reader misses it', async () => {
    const { topic, first } = await world.inTime(2, async (delay) => {
      const posted = await world.topic();
      const next = await follow(world, posted, 'next');
      await world.post(posted, ['delayed'], { delay });
      await world.post(posted, ['at once']);
      const answer = (await client.get(next)).expect(200);
      assert.equal(answer.text(), 'at once');
      return { topic: posted, first: answer };
    });
    const second = await client.get(client.store(first.link('next')), { headers: { 'accept-wait': '30' } });
    assert.equal(second.expect(200).text(), 'delayed');
    assert.deepEqual(await readOn(await end(topic, 'first')), ['at once', 'delayed']);
  });

  it('A17 a message whose ttl is over is not read', async () => {
    const topic = await world.topic();
    const [short = ''] = await world.post(topic, ['short'], { ttl: 0.1 });
    await world.post(topic, ['long']);
    await world.until('its time is over', async () => {
      const answer = await client.get(short);
      return answer.status !== 200 || answer.headers['message-state'] === 'expired';
    });
    assert.deepEqual(await readOn(await end(topic, 'first')), ['long']);
  });

  it('A17 a delayed message at its own address is not immutable yet, and leads nowhere', async () => {
    const topic = await world.topic();
    const [message = ''] = await world.post(topic, ['later'], { delay: 90 });
    const answer = (await client.get(message)).expect(200);
    assert.equal(answer.headers['message-state'], 'delayed');
    assert.doesNotMatch(answer.headers['cache-control'] ?? '', /immutable|max-age=[1-9]/);
    assert.ok(!answer.has('next'));
    (await client.get(await end(topic, 'first'))).expect(204);
  });

  it('A9 an Accept-Wait that cannot be read is 400; Prefer: wait is its synonym', async () => {
    const topic = await world.topic();
    const next = await follow(world, topic, 'next');
    for (const wait of ['', 'soon', '-1'])
      expectProblem(await client.get(next, { headers: { 'accept-wait': wait } }), 400);
    const exchange = client.begin('GET', next, { headers: { prefer: 'wait=30' } });
    await exchange.sent;
    await world.post(topic, ['x']);
    assert.equal((await exchange.answer).expect(200).text(), 'x');
  });

  it('G4 message content ignores Accept', async () => {
    const topic = await world.topic();
    const next = await follow(world, topic, 'next');
    const [message = ''] = await world.post(topic, ['plain']);
    for (const address of [next, message, await end(topic, 'first'), await end(topic, 'last')]) {
      assert.equal((await client.get(address, { headers: { accept: 'image/png' } })).expect(200).text(), 'plain');
    }
  });
}
