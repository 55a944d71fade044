import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Address } from '../client.ts';
import { expectProblem } from '../expect.ts';
import { follow, freshLink, linkOf, partsOf, sendText, textBatch } from '../steps.ts';
import type { World } from '../world.ts';

const POSTERS = 8;
const EACH = 15;
const READERS = 4;

export function topicReaders(world: World): void {
  const { client } = world;

  /** Reads so many messages from a place on, waiting for them; one by one, or several at once. */
  async function read(from: Address, count: number, max?: number): Promise<string[]> {
    const texts: string[] = [];
    for (let at = from; texts.length < count; ) {
      const options = { headers: { 'accept-wait': '30' }, ...(max === undefined ? {} : { query: { max } }) };
      const answer = (await client.get(at, options)).expect(200);
      texts.push(...(max === undefined ? [answer.text()] : partsOf(answer).map(({ body }) => body.toString())));
      at = linkOf(client, answer, 'next');
    }
    return texts;
  }

  it(`A17 next never skips and never repeats while ${POSTERS} post at once, in every way and on every node`, async () => {
    const topic = await world.topic();
    const next = await follow(world, topic, 'next');
    const total = POSTERS * EACH;
    const readers = Array.from({ length: READERS }, (_, i) => read(next, total, i % 2 === 0 ? undefined : 7));
    const batch = await follow(world, topic, 'post-batch');
    const posters = Array.from({ length: POSTERS }, async (_, poster) => {
      const texts = Array.from({ length: EACH }, (__, i) => `${poster}.${i}`);
      if (poster % 4 === 1) {
        let link = await freshLink(world, topic);
        for (const text of texts)
          link = linkOf(client, (await sendText(client, link, text)).expect(200), 'create-next');
      } else if (poster % 4 === 2) {
        for (let i = 0; i < EACH; i += 5) (await client.post(batch, textBatch(texts.slice(i, i + 5)))).expect(201);
      } else {
        await world.post(topic, texts, { persistent: String(poster % 4 === 0) });
      }
      return texts;
    });
    const posted = await Promise.all(posters);
    const seen = await Promise.all(readers);
    for (const texts of seen) {
      assert.deepEqual([...texts].sort(), posted.flat().sort(), 'each message once');
      assert.deepEqual(texts, seen[0], 'everyone sees one order');
    }
    for (const texts of posted) {
      assert.deepEqual(
        seen[0]?.filter((text) => texts.includes(text)),
        texts,
        'what one client posts one after the other keeps its order',
      );
    }
    const again = await read(await follow(world, topic, 'first'), total);
    assert.deepEqual(again, seen[0], 'and so it stays');
    (await client.get(await follow(world, topic, 'next'))).expect(204);
  });

  it('A9 one message wakes all readers of a topic, on every node', async () => {
    const topic = await world.topic();
    const next = await follow(world, topic, 'next');
    const waiting = await Promise.all(Array.from({ length: 6 }, () => world.startWaiting('GET', next)));
    await world.post(topic, ['news']);
    for (const { answer } of waiting) assert.equal((await answer).expect(200).text(), 'news');
  });

  it('A9 each way of posting to a topic wakes its readers', async () => {
    const topic = await world.topic();
    const links = await client.head(topic.address);
    const link = (rel: string) => linkOf(client, links, rel);
    const ways: Record<string, () => Promise<unknown>> = {
      direct: () => world.post(topic, ['x']),
      'post-message': async () => (await sendText(client, link('post-message'), 'x')).expect(201),
      'post-message-once': async () => (await sendText(client, await freshLink(world, topic), 'x')).expect(200),
      'post-batch': async () => (await client.post(link('post-batch'), textBatch(['x', 'y']))).expect(201),
      delayed: () => world.post(topic, ['x'], { delay: 0.3 }),
      light: () => world.post(topic, ['x'], { persistent: 'false' }),
    };
    for (const [way, post] of Object.entries(ways)) {
      const waiting = await world.startWaiting('GET', await follow(world, topic, 'next'));
      await post();
      assert.equal((await waiting.answer).expect(200).text(), 'x', way);
    }
  });

  it('A9 a reader with max and a wait gets what is there when the first has come', async () => {
    const topic = await world.topic();
    const waiting = await world.startWaiting('GET', await follow(world, topic, 'next'), { query: { max: 10 } });
    (await client.post(await follow(world, topic, 'post-batch'), textBatch(['a', 'b']))).expect(201);
    const texts = partsOf((await waiting.answer).expect(200)).map(({ body }) => body.toString());
    assert.deepEqual(texts, ['a', 'b']);
  });

  it('A9 nothing came: 204 with the same next', async () => {
    const topic = await world.topic();
    const { url, ...answer } = await client.get((await client.head(topic.address)).link('next'), {
      headers: { 'accept-wait': '0.1' },
    });
    assert.equal(answer.expect(204).link('next'), url);
  });

  for (const rel of ['first', 'last'] as const) {
    it(`A9 ${rel} of an empty topic waits for a message, on every node`, async () => {
      for (const headers of [{ 'accept-wait': '30' }, { 'accept-wait': [], prefer: 'wait=30' }]) {
        const topic = await world.topic();
        const address = await follow(world, topic, rel);
        const waiting = await Promise.all(
          client.bases.map((base) => world.startWaiting('GET', `${base}${address}`, { headers })),
        );
        const [posted] = await world.post(topic, ['news']);
        for (const { answer } of waiting) {
          const found = (await answer).expect(200);
          assert.equal(found.text(), 'news');
          assert.equal(client.store(found.headers['content-location'] ?? ''), posted);
          assert.equal(found.headers['preference-applied'], 'prefer' in headers ? 'wait=30' : undefined);
        }
      }
    });

    it(`A9 ${rel} gives what is there at once, and 204 with the links when nothing comes`, async () => {
      const topic = await world.topic();
      const address = await follow(world, topic, rel);
      const none = (await client.get(address, { headers: { 'accept-wait': '0.1' } })).expect(204);
      for (const each of ['first', 'last', 'next']) assert.ok(none.has(each), each);
      await world.post(topic, ['news']);
      const there = await client.get(address, { headers: { 'accept-wait': '60' }, timeout: 30_000 });
      assert.equal(there.expect(200).text(), 'news');
    });

    it(`A9 an Accept-Wait that cannot be read is 400 at ${rel}, too`, async () => {
      const topic = await world.topic();
      await world.post(topic, ['news']);
      const address = await follow(world, topic, rel);
      for (const wait of ['long', '-1', '']) {
        for (const accept of ['*/*', 'text/event-stream']) {
          expectProblem(await client.get(address, { headers: { 'accept-wait': wait, accept } }), 400);
        }
      }
    });
  }
}
