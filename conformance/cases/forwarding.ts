import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { parseLinks } from '../links.ts';
import { type Arrival, createTargets, type Target } from '../targets.ts';
import type { Destination, Queue, World } from '../world.ts';

type Json = {
  state: string;
  reason?: string;
  counters: { forwarded: number; failed: number; dead: number };
  attempts: { at: string; milliseconds: number; status?: number; error?: string }[];
};

const bodies = (arrivals: readonly Arrival[]): string[] => arrivals.map(({ body }) => body);

export function forwarding(world: World): void {
  const { client } = world;
  const targets = createTargets();
  after(() => targets.close());

  async function register(from: Destination, rel: string, href: string): Promise<string> {
    const collection = client.store((await client.head(from.address)).link('subscribers'));
    const body = JSON.stringify({ rel, href });
    const answer = await client.post(collection, { headers: { 'content-type': 'application/json' }, body });
    return client.store(answer.expect(201).headers.location ?? '');
  }

  const look = async (subscriber: string): Promise<Json> =>
    (await client.get(subscriber, { headers: { accept: 'application/json' } })).expect(200).json<Json>();

  const arrived = (target: Target, count: number): Promise<void> =>
    world.until(`${count} messages have come`, async () => target.accepted.length >= count);

  const untilState = (subscriber: string, state: string): Promise<void> =>
    world.until(`the subscriber is ${state}`, async () => (await look(subscriber)).state === state);

  for (const kind of ['queue', 'topic'] as const) {
    const make = (): Promise<Destination> => (kind === 'queue' ? world.queue() : world.topic());

    it(`A20 a ${kind} forwards by the four steps, keeping the create-next of the last answer`, async () => {
      const [from, target] = [await make(), await targets.target()];
      await register(from, 'post-message-once', target.once);
      const texts = Array.from({ length: 10 }, (_, i) => `message ${i}`);
      const addresses = await world.post(from, texts);
      await arrived(target, texts.length);
      assert.deepEqual(bodies(target.accepted), texts);
      assert.equal(target.asked, 1);
      for (const [index, { headers }] of target.accepted.entries()) {
        assert.equal(headers['content-type'], 'text/plain');
        const links = parseLinks(String(headers.link));
        const hrefOf = (rel: string) => links.find((link) => link.rel === rel)?.href ?? '';
        // Nobody asked for it under an address, so it comes with the service's own, which need not be the one known here.
        assert.ok(hrefOf('self').endsWith(String(addresses[index])), hrefOf('self'));
        assert.ok(hrefOf('generator').endsWith(from.address), hrefOf('generator'));
      }
    });

    it(`A20 a ${kind} forwards by post-message with the message's own fields, and no Content-Type stays none`, async () => {
      const [from, target] = [await make(), await targets.target()];
      await register(from, 'post-message', target.messages);
      const headers = { 'x-kept': 'this', 'ce-id': '7', authorization: 'Bearer no' };
      (await client.post(from.address, { headers, body: 'bare' })).expect(204);
      await arrived(target, 1);
      const [{ headers: got, body } = assert.fail()] = target.accepted;
      assert.deepEqual([body, got['x-kept'], got['ce-id']], ['bare', 'this', '7']);
      assert.deepEqual([got['content-type'], got.authorization], [undefined, undefined]);
    });

    it(`A20 405 on a create-next of a ${kind} whose answer was lost means delivered`, async () => {
      const [from, target] = [await make(), await targets.target()];
      const subscriber = await register(from, 'post-message-once', target.once);
      target.trick('lost');
      await world.post(from, ['one', 'two']);
      await world.until('both are counted', async () => (await look(subscriber)).counters.forwarded === 2);
      assert.deepEqual(bodies(target.accepted), ['one', 'two']);
    });

    it(`A20 a ${kind} tries again after 5xx, 429 and 408, and keeps the order`, async () => {
      const [from, target] = [await make(), await targets.target()];
      const subscriber = await register(from, 'post-message', target.messages);
      target.trick(
        (response) => response.writeHead(503).end(),
        (response) => response.writeHead(429, { 'Retry-After': '1' }).end(),
      );
      await world.post(from, ['one', 'two']);
      await untilState(subscriber, 'retrying');
      await arrived(target, 2);
      assert.deepEqual(bodies(target.accepted), ['one', 'two']);
      // Another node than the one that serves it may show the last attempts a little later.
      let shown = await look(subscriber);
      await world.until('the attempts show', async () => {
        shown = await look(subscriber);
        return shown.attempts.length === 4;
      });
      const { attempts, state } = shown;
      assert.equal(state, 'active');
      assert.deepEqual(
        attempts.map(({ status }) => status),
        [503, 429, 200, 200],
      );
      assert.ok(attempts[0]?.error && attempts[0].at && attempts[0].milliseconds >= 0);
    });

    it(`A20 410 on the registered href disables a subscriber of a ${kind}`, async () => {
      const [from, target] = [await make(), await targets.target()];
      const subscriber = await register(from, 'post-message', target.messages);
      target.trick((response) => response.writeHead(410).end());
      await world.post(from, ['one']);
      await untilState(subscriber, 'disabled');
      (await client.post((await client.get(subscriber)).link('enable'))).expect(200);
      await arrived(target, 1);
      assert.deepEqual(bodies(target.accepted), ['one']);
    });

    it(`A19 try-now of a ${kind} does not wait for the pause to end`, async () => {
      const [from, target] = [await make(), await targets.target()];
      const subscriber = await register(from, 'post-message', target.messages);
      target.trick((response) => response.writeHead(503, { 'Retry-After': '3600' }).end());
      await world.post(from, ['one']);
      await untilState(subscriber, 'retrying');
      (await client.post((await client.get(subscriber)).link('try-now'))).expect(200);
      await arrived(target, 1);
    });
  }

  it('A19 a topic gives every subscriber what is posted after it registered', async () => {
    const topic = await world.topic();
    const [early, late] = [await targets.target(), await targets.target()];
    await register(topic, 'post-message', early.messages);
    await world.post(topic, ['one']);
    await register(topic, 'post-message-once', late.once);
    await world.post(topic, ['two', 'three']);
    await Promise.all([arrived(early, 3), arrived(late, 2)]);
    assert.deepEqual(bodies(early.accepted), ['one', 'two', 'three']);
    assert.deepEqual(bodies(late.accepted), ['two', 'three']);
  });

  it('A19 a queue gives each message to one subscriber, and none is left', async () => {
    const queue = await world.queue();
    const both = [await targets.target(), await targets.target()];
    for (const target of both) await register(queue, 'post-message-once', target.once);
    const texts = Array.from({ length: 30 }, (_, i) => `message ${i}`);
    await Promise.all(texts.map((text) => world.post(queue, [text])));
    await world.until('all have come', async () => both.flatMap(({ accepted }) => accepted).length >= texts.length);
    assert.deepEqual(both.flatMap(({ accepted }) => bodies(accepted)).sort(), texts.sort());
    assert.deepEqual(await world.drain(queue), []);
  });

  it('A19 disabling puts what a subscriber of a queue holds back at its place', async () => {
    const queue = await world.queue();
    const target = await targets.target();
    const subscriber = await register(queue, 'post-message', target.messages);
    target.trick((response) => response.writeHead(503, { 'Retry-After': '3600' }).end());
    await world.post(queue, ['one', 'two']);
    await untilState(subscriber, 'retrying');
    // Others do not get what it holds.
    assert.equal((await client.get(queue.receiving)).expect(200).text(), 'two');
    (await client.post((await client.get(subscriber)).link('disable'))).expect(200);
    await world.until('it is back', async () => (await client.get(queue.receiving)).text() === 'one');
    const first = (await client.post(queue.receiving)).expect(200);
    assert.deepEqual([first.text(), first.headers['delivery-count']], ['one', '1']);
    assert.deepEqual(await world.drain(queue), ['two']);
  });

  it('A20 another 4xx: a message of a queue is dead at once, with its reason, and the next one is tried', async () => {
    const queue = await world.queue();
    const target = await targets.target();
    const subscriber = await register(queue, 'post-message', target.messages);
    target.trick((response) => response.writeHead(422).end());
    await world.post(queue, ['bad', 'good']);
    await arrived(target, 1);
    assert.deepEqual(bodies(target.accepted), ['good']);
    const dead: Queue = await world.queueAt(`${queue.name}.dead`);
    const letter = (await client.post(dead.receiving)).expect(200);
    assert.equal(letter.text(), 'bad');
    assert.match(letter.headers['message-dead-reason'] ?? '', /422/);
    assert.equal(client.store(letter.link('generator')), queue.address);
    assert.equal((await look(subscriber)).counters.dead, 1);
  });

  it('A20 another 4xx: a subscriber of a topic is disabled at that message; enable resumes there, skip after it', async () => {
    const topic = await world.topic();
    const target = await targets.target();
    const subscriber = await register(topic, 'post-message', target.messages);
    target.trick(
      (response) => response.writeHead(404).end(),
      (response) => response.writeHead(404).end(),
    );
    await world.post(topic, ['bad', 'good']);
    await untilState(subscriber, 'disabled');
    assert.match((await look(subscriber)).reason ?? '', /404/);
    (await client.post((await client.get(subscriber)).link('enable'))).expect(200);
    await world.until('it is disabled again', async () => {
      const { state, counters } = await look(subscriber);
      return state === 'disabled' && counters.failed === 2;
    });
    const enable = (await client.get(subscriber)).link('enable');
    (await client.post(enable, { query: { skip: 'true' } })).expect(200);
    await arrived(target, 1);
    assert.deepEqual(bodies(target.accepted), ['good']);
  });

  it('A20 redirects are not followed', async () => {
    const queue = await world.queue();
    const [target, elsewhere] = [await targets.target(), await targets.target()];
    await register(queue, 'post-message', target.messages);
    target.trick((response) => response.writeHead(307, { Location: elsewhere.messages }).end());
    await world.post(queue, ['one', 'two']);
    await arrived(target, 1);
    assert.deepEqual([bodies(target.accepted), bodies(elsewhere.accepted)], [['two'], []]);
  });

  it('A20 this service forwards to itself: queue to topic to queue, each message once and in order', async () => {
    const [first, middle, last] = [await world.queue(), await world.topic(), await world.queue()];
    const onceOf = async ({ address }: Destination) => (await client.head(address)).link('post-message-once');
    await register(middle, 'post-message-once', await onceOf(last));
    await register(first, 'post-message-once', await onceOf(middle));
    const texts = Array.from({ length: 20 }, (_, i) => `message ${i}`);
    await world.post(first, texts);
    const seen: string[] = [];
    await world.until('all have come through', async () => {
      seen.push(...(await world.drain(last)));
      return seen.length >= texts.length;
    });
    assert.deepEqual(seen, texts);
  });

  it('A20 post-batch hands messages over as multipart/mixed, in order', async () => {
    const topic = await world.topic();
    const target = await targets.target();
    await register(topic, 'post-batch', target.batches);
    await world.post(topic, ['one', 'two', 'three']);
    const texts = () =>
      target.accepted.flatMap(({ body }) => [...body.matchAll(/\r\n\r\n(\w+)\r\n--/g)].map((m) => m[1]));
    await world.until('all have come', async () => texts().length >= 3);
    assert.deepEqual(texts(), ['one', 'two', 'three']);
    assert.match(String(target.accepted[0]?.headers['content-type']), /^multipart\/mixed; *boundary=/);
  });
}
