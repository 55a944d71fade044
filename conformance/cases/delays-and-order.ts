import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Address } from '../client.ts';
import { expectProblem } from '../expect.ts';
import { countsOf, follow, freshLink, linkOf, sendText, stateOf, textBatch, uriList } from '../steps.ts';
import type { Queue, World } from '../world.ts';

type Query = Record<string, string | number>;
/** A way of posting a text to a queue; gives the answer's status and the address of the message. */
type Way = (queue: Queue, text: string, query: Query) => Promise<Address>;

const BAD: Query[] = [{ delay: 'soon' }, { ttl: -1 }, { priority: 10 }, { persistent: 'maybe' }];

export function delaysAndOrder(world: World): void {
  const { client } = world;
  let own = 0;

  const WAYS: Record<string, Way> = {
    'the direct post': async (queue, text, query) => {
      return located((await sendText(client, queue.address, text, { query })).expect(204).headers.location);
    },
    'post-message': async (queue, text, query) => {
      const to = await follow(world, queue, 'post-message');
      return located((await sendText(client, to, text, { query })).expect(201).headers.location);
    },
    'post-message-once': async (queue, text, query) => {
      const answer = await sendText(client, await freshLink(world, queue), text, { query });
      return located(answer.expect(200).headers['content-location']);
    },
    'post-batch': async (queue, text, query) => {
      const answer = await client.post(await follow(world, queue, 'post-batch'), { ...textBatch([text]), query });
      return uriList(client, answer.expect(201))[0] ?? '';
    },
    'post-batch-once': async (queue, text, query) => {
      const link = await freshLink(world, queue, 'post-batch-once');
      return uriList(client, (await client.post(link, { ...textBatch([text]), query })).expect(200))[0] ?? '';
    },
    'the idempotent PUT': async (queue, text, query) => {
      const headers = { 'content-type': 'text/plain' };
      const answer = await client.put(queue.message(`own-${++own}`), { headers, body: text, query });
      return located(answer.expect(201).headers.location);
    },
  };

  function located(address: string | undefined): Address {
    assert.ok(address, 'the answer names the message');
    return client.store(address);
  }

  for (const [name, post] of Object.entries(WAYS)) {
    it(`A4 ${name}: delay hides the message until it is over`, async () => {
      const queue = await world.queue();
      const hidden = await post(queue, 'hidden', { delay: 90 });
      await post(queue, 'soon', { delay: 0.3 });
      assert.equal(await stateOf(client, hidden), 'delayed');
      const received = await client.post(queue.receiving, { headers: { 'accept-wait': '30' } });
      assert.equal(received.expect(200).text(), 'soon');
      (await client.post(queue.receiving)).expect(204);
      assert.equal((await countsOf(client, queue)).delayed, 1);
    });

    it(`A4 ${name}: a message whose ttl is over is not delivered`, async () => {
      const queue = await world.queue();
      const short = await post(queue, 'short', { ttl: 0.1 });
      await post(queue, 'long', { ttl: 600 });
      await world.untilState(short, 'expired');
      assert.deepEqual(await world.drain(queue), ['long']);
    });

    it(`A4 ${name}: priority goes before arrival`, async () => {
      const queue = await world.queue();
      await world.post(queue, ['default']);
      for (const priority of [0, 9, 5]) await post(queue, `p${priority}`, { priority });
      await post(queue, 'also default', {});
      assert.deepEqual(await world.drain(queue), ['p9', 'p5', 'default', 'also default', 'p0']);
    });

    it(`A4 ${name}: persistent=false is delivered like any other, in its place`, async () => {
      const queue = await world.queue();
      await post(queue, 'a', {});
      await post(queue, 'b', { persistent: 'false' });
      await post(queue, 'c', { persistent: '1' });
      await post(queue, 'd', { persistent: '0' });
      assert.deepEqual(await world.drain(queue), ['a', 'b', 'c', 'd']);
    });
  }

  it('A4 what cannot be read is 400 on create-next links and batches, stores nothing and uses no link up', async () => {
    const queue = await world.queue();
    const [once, batchOnce] = [await freshLink(world, queue), await freshLink(world, queue, 'post-batch-once')];
    const batch = await follow(world, queue, 'post-batch');
    for (const query of BAD) {
      expectProblem(await sendText(client, once, 'x', { query }), 400);
      for (const to of [batch, batchOnce]) expectProblem(await client.post(to, { ...textBatch(['x']), query }), 400);
    }
    assert.deepEqual(await world.drain(queue), []);
    (await sendText(client, once, 'a')).expect(200);
    (await client.post(batchOnce, textBatch(['b']))).expect(200);
    assert.deepEqual(await world.drain(queue), ['a', 'b']);
  });

  it('A4 the query of a batch counts for all of its messages, which keep their order among themselves', async () => {
    const queue = await world.queue();
    const to = await follow(world, queue, 'post-batch');
    (await client.post(to, { ...textBatch(['a', 'b']), query: { priority: 3 } })).expect(201);
    (await client.post(to, { ...textBatch(['c', 'd']), query: { priority: 7 } })).expect(201);
    const later = uriList(
      client,
      (await client.post(to, { ...textBatch(['e', 'f']), query: { delay: 90 } })).expect(201),
    );
    for (const message of later) assert.equal(await stateOf(client, message), 'delayed');
    assert.deepEqual(await world.drain(queue), ['c', 'd', 'a', 'b']);
  });

  it('A4 a delayed batch appears whole and in its order', async () => {
    const queue = await world.queue();
    const to = await follow(world, queue, 'post-batch');
    (await client.post(to, { ...textBatch(['a', 'b', 'c']), query: { delay: 0.4 } })).expect(201);
    await world.until('all have come', async () => (await countsOf(client, queue)).available === 3);
    assert.deepEqual(await world.drain(queue), ['a', 'b', 'c']);
  });

  it('A4 a batch keeps its order through a delay, whichever node gave the link and whichever took the batch', async () => {
    const texts = ['a', 'b', 'c', 'd'];
    for (const giver of client.bases) {
      for (const taker of client.bases) {
        const [queue, topic] = [await world.queue(), await world.topic()];
        let next = await follow(world, topic, 'next');
        for (const to of [queue, topic]) {
          const once = (await client.head(`${giver}${to.address}`)).expect(200).link('post-batch-once');
          const link = linkOf(client, (await client.post(once)).expect(200), 'create-next');
          (await client.post(`${taker}${link}`, { ...textBatch(texts), query: { delay: 0.2 } })).expect(200);
        }
        for (const text of texts) {
          const answer = (await client.get(next, { headers: { 'accept-wait': '20' } })).expect(200);
          assert.equal(answer.text(), text, `${giver} to ${taker}`);
          next = linkOf(client, answer, 'next');
        }
        await world.until('all have come', async () => (await countsOf(client, queue)).available === texts.length);
        assert.deepEqual(await world.drain(queue), texts);
      }
    }
  });

  it('A4 a delay longer than the ttl: the message expires unseen', async () => {
    const queue = await world.queue();
    const [message = ''] = await world.post(queue, ['never'], { delay: 60, ttl: 0.1 });
    await world.untilState(message, 'expired');
    assert.deepEqual(await world.drain(queue), []);
  });

  it('A4 the settings of a queue hold for every way of posting that says nothing', async () => {
    const queue = await world.queue({ delay: 90 });
    for (const [name, post] of Object.entries(WAYS)) {
      assert.equal(await stateOf(client, await post(queue, 'later', {})), 'delayed', name);
      assert.equal(await stateOf(client, await post(queue, 'now', { delay: 0 })), 'available', name);
    }
  });

  it('A4 each way of posting to a queue wakes who waits', async () => {
    const queue = await world.queue();
    const poller = linkOf(client, await client.head(queue.address), 'poller');
    for (const [name, post] of Object.entries(WAYS)) {
      const waiting = await world.startWaiting('POST', poller);
      await post(queue, name, {});
      assert.equal((await waiting.answer).expect(200).text(), name);
    }
  });
}
