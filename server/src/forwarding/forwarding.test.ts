import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { forEachEngine } from '../../../testing/engines.ts';
import { eventually } from '../../../testing/eventually.ts';
import { request } from '../../../testing/http.ts';
import { parseLinks } from '../../../testing/links.ts';
import { boundaryOf, createMultipartParser, type Part } from '../http/multipart.ts';
import { follow, isState, look, type Place, until, withService } from './service.fixtures.ts';

const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `message ${from + index}`);

async function postAll(place: Place, bodies: readonly string[]): Promise<void> {
  for (const body of bodies) await place.post(body, { 'content-type': 'text/plain' });
}

function partsOf(contentType: string, body: string): Part[] {
  const parser = createMultipartParser(boundaryOf(contentType) ?? '', { parts: 1000, headerBytes: 10_000 });
  parser.write(Buffer.from(body));
  return parser.end();
}

forEachEngine('forwarding', (engine) => {
  const service = withService(engine);

  for (const kind of ['queue', 'topic'] as const) {
    for (const rel of ['post-message', 'post-message-once'] as const) {
      test(`${rel} from a ${kind}: each message once, in order, as it was posted`, async () => {
        const place = await service[kind]();
        const target = await service.target();
        const subscriber = await place.register(rel, `${target.url}/${rel === 'post-message' ? 'in' : 'once'}`);
        const bodies = numbered(1, 40);
        const posted = await place.post('message 1', {
          'content-type': 'text/plain;x=y',
          'x-kept': 'a',
          accept: 'b/c',
        });
        await postAll(place, bodies.slice(1));
        const accepted = await target.received(40);
        assert.deepEqual(
          accepted.map(({ body }) => body),
          bodies,
        );
        const { headers } = accepted[0] ?? assert.fail();
        assert.equal(headers['content-type'], 'text/plain;x=y');
        assert.equal(headers['x-kept'], 'a');
        assert.equal(headers.accept, undefined);
        const links = parseLinks(String(headers.link));
        assert.deepEqual(links, [
          { rel: 'self', href: posted.headers.location },
          { rel: 'generator', href: place.url },
        ]);
        const found = await until(subscriber, 'all are counted', ({ counters }) => counters.forwarded === 40);
        assert.deepEqual([found.state, found.counters.failed, found.attempts.length], ['active', 0, 20]);
        if (rel === 'post-message-once') {
          // The link of each answer serves the next message: the target was asked for one only once.
          assert.equal(target.asked.filter(({ path }) => path === '/once').length, 1);
        }
        if (kind === 'queue') assert.equal((await place.receive()).status, 204);
      });
    }

    test(`post-batch from a ${kind}: up to a hundred messages in one request`, async () => {
      const place = await service[kind]();
      const target = await service.target();
      const bodies = numbered(1, 250);
      const disabled = await place.register('post-batch', `${target.url}/batch`);
      await follow(disabled, 'disable');
      await postAll(place, bodies);
      await follow(disabled, 'enable');
      const batches = await target.received(3);
      const sizes: number[] = [];
      const seen = batches.flatMap(({ headers, body }) => {
        assert.match(String(headers['content-type']), /^multipart\/mixed; boundary=/);
        const parts = partsOf(String(headers['content-type']), body);
        sizes.push(parts.length);
        for (const part of parts) {
          const fields = new Map(part.headers.map(([name, value]) => [name.toLowerCase(), value]));
          assert.equal(fields.get('content-type'), 'text/plain');
          assert.deepEqual(
            parseLinks(fields.get('link') ?? '').map((link) => link.rel),
            ['self', 'generator'],
          );
        }
        return parts.map((part) => part.body.toString());
      });
      assert.deepEqual(sizes, [100, 100, 50]);
      assert.deepEqual(seen, bodies);
      await until(disabled, 'all are counted', ({ counters }) => counters.forwarded === 250);
    });

    test(`a batch from a ${kind} waits a second for more messages, not longer`, async () => {
      const place = await service[kind]();
      const target = await service.target();
      await place.register('post-batch', `${target.url}/batch`);
      await postAll(place, ['a', 'b', 'c']);
      const [batch] = await target.received(1);
      const parts = partsOf(String(batch?.headers['content-type']), batch?.body ?? '');
      assert.deepEqual(
        parts.map((part) => part.body.toString()),
        ['a', 'b', 'c'],
      );
    });

    test(`an absent Content-Type stays absent, an empty body stays empty (${kind})`, async () => {
      const place = await service[kind]();
      const target = await service.target();
      await place.register('post-message-once', `${target.url}/once`);
      await place.post('');
      const [arrival] = await target.received(1);
      assert.equal(arrival?.headers['content-type'], undefined);
      assert.equal(arrival?.body, '');
    });
  }

  test('a topic gives every subscriber every message posted after it registered', async () => {
    const topic = await service.topic();
    const [first, second] = [await service.target(), await service.target()];
    await topic.register('post-message', `${first.url}/in`);
    await postAll(topic, ['one', 'two']);
    await topic.register('post-message-once', `${second.url}/once`);
    await postAll(topic, ['three', 'four']);
    const bodies = async (target: typeof first, count: number) =>
      (await target.received(count)).map(({ body }) => body);
    assert.deepEqual(await bodies(first, 4), ['one', 'two', 'three', 'four']);
    assert.deepEqual(await bodies(second, 2), ['three', 'four']);
  });

  test('a queue gives each message to one of its subscribers', async () => {
    const queue = await service.queue();
    const targets = [await service.target(), await service.target()];
    for (const target of targets) await queue.register('post-message', `${target.url}/in`);
    const bodies = numbered(1, 50);
    await Promise.all(bodies.map((body) => queue.post(body)));
    await eventually('all have come', () => targets.reduce((sum, { accepted }) => sum + accepted.length, 0) === 50);
    const seen = targets.flatMap(({ accepted }) => accepted.map(({ body }) => body));
    assert.deepEqual(seen.sort(), bodies.sort());
  });

  test('what is posted with persistent=false, with a delay or with a priority is forwarded too', async () => {
    const queue = await service.queue();
    const target = await service.target();
    const subscriber = await queue.register('post-message-once', `${target.url}/once`);
    await follow(subscriber, 'disable');
    await queue.post('low', {}, '?priority=1');
    await queue.post('volatile', {}, '?persistent=false');
    await queue.post('high', {}, '?priority=9');
    await queue.post('later', {}, '?delay=1');
    await follow(subscriber, 'enable');
    const bodies = (await target.received(4)).map(({ body }) => body);
    assert.deepEqual(bodies, ['high', 'volatile', 'low', 'later']);
  });

  test('reply-to travels with a forwarded message', async () => {
    const queue = await service.queue();
    const replies = await service.queue();
    const target = await service.target();
    await queue.register('post-message', `${target.url}/in`);
    await queue.post('question', { link: `<${replies.url}>; rel="reply-to"` });
    const [arrival] = await target.received(1);
    const links = parseLinks(String(arrival?.headers.link));
    assert.equal(links.find(({ rel }) => rel === 'reply-to')?.href, replies.url);
    const once = links.find(({ rel }) => rel === 'reply-to-once')?.href ?? assert.fail();
    assert.equal((await request(once, { method: 'POST' })).status, 200);
  });

  test('three deep: a queue forwards to a topic, which forwards to a queue, each once and in order', async () => {
    const [first, middle, last] = [await service.queue(), await service.topic(), await service.queue()];
    const once = async (place: Place) => (await request(place.url, { method: 'HEAD' })).link('post-message-once');
    await middle.register('post-message-once', await once(last));
    await first.register('post-message-once', await once(middle));
    const bodies = numbered(1, 60);
    for (const body of bodies) await first.post(body, { 'content-type': 'text/x-chain', 'x-kept': 'through' });
    const received: string[] = [];
    await eventually('all have come through', async () => {
      const answer = await last.receive();
      if (answer.status === 200) {
        received.push(answer.text());
        assert.equal(answer.headers['content-type'], 'text/x-chain');
        assert.equal(answer.headers['x-kept'], 'through');
      }
      return received.length === bodies.length;
    });
    assert.deepEqual(received, bodies);
    assert.equal((await last.receive()).status, 204);
  });

  test('a batch of Waypost is a batch for Waypost', async () => {
    const [topic, queue] = [await service.topic(), await service.queue()];
    await topic.register('post-batch', (await request(queue.url, { method: 'HEAD' })).link('post-batch'));
    await postAll(topic, numbered(1, 30));
    const received: string[] = [];
    await eventually('all have come through', async () => {
      const answer = await queue.receive();
      if (answer.status === 200) received.push(answer.text());
      return received.length === 30;
    });
    assert.deepEqual(received, numbered(1, 30));
  });

  test('deliveries to a subscriber with a secret satisfy the official library', async () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    for (const rel of ['post-message', 'post-message-once', 'post-batch'] as const) {
      const topic = await service.topic();
      const target = await service.target();
      const subscriber = await topic.register(rel, `${target.url}/${rel === 'post-message-once' ? 'once' : 'in'}`, {
        secret,
      });
      await topic.post('{"hello":"wörld"}', { 'content-type': 'application/json' });
      const [arrival] = await target.received(1);
      for (const { body, headers } of rel === 'post-batch' ? [] : [arrival ?? assert.fail()]) {
        assert.deepEqual(new Webhook(secret).verify(body, headers as Record<string, string>), { hello: 'wörld' });
        assert.throws(() => new Webhook(secret).verify(`${body} `, headers as Record<string, string>));
      }
      assert.match(String(arrival?.headers['webhook-signature']), /^v1,/);
      const shown = await request(subscriber, { headers: { accept: 'application/json' } });
      assert.equal(shown.json<{ signed: boolean }>().signed, true);
      for (const accept of ['application/json', 'application/atom+xml'])
        assert.ok(!(await request(subscriber, { headers: { accept } })).text().includes(secret.slice(6)));
    }
  });

  test('a secret goes to the registered origin only', async () => {
    const topic = await service.topic();
    const [target, elsewhere] = [await service.target(), await service.target()];
    target.whim = (_, response) => {
      response.writeHead(200, { Link: `<${elsewhere.url}/next/1>; rel="create-next"` }).end();
      return true;
    };
    await topic.register('post-message-once', `${target.url}/once`, { secret: Buffer.alloc(24, 7).toString('base64') });
    await topic.post('x');
    const [arrival] = await elsewhere.received(1);
    assert.equal(arrival?.headers['webhook-signature'], undefined);
    assert.match(String(target.asked[0]?.headers['webhook-signature']), /^v1,/);
  });

  test('disabling puts a message of a queue back at its place, removing too', async () => {
    for (const way of ['disable', 'remove'] as const) {
      const queue = await service.queue();
      const target = await service.target();
      target.whim = (_, response) => {
        response.writeHead(503).end();
        return true;
      };
      const subscriber = await queue.register('post-message-once', `${target.url}/once`);
      await postAll(queue, ['one', 'two']);
      await until(subscriber, 'it is retrying', isState('retrying'));
      const counts = (await request(queue.url)).json<{ counts: object }>().counts;
      assert.deepEqual(counts, { available: 1, delayed: 0, leased: 1, dead: 0 });
      if (way === 'disable') assert.equal((await follow(subscriber, 'disable')).status, 200);
      else assert.equal((await request(subscriber, { method: 'DELETE' })).status, 204);
      await eventually('it is back', async () => {
        const { counts } = (await request(queue.url)).json<{ counts: { available: number } }>();
        return counts.available === 2;
      });
      const first = await queue.receive();
      assert.equal(first.text(), 'one');
      // Tries to forward are not deliveries.
      assert.equal(first.headers['delivery-count'], '1');
      if (way === 'remove') assert.equal((await request(subscriber)).status, 404);
    }
  });

  test('a disabled subscriber of a topic gets nothing, and then everything', async () => {
    const topic = await service.topic();
    const target = await service.target();
    const subscriber = await topic.register('post-message', `${target.url}/in`);
    await topic.post('one');
    await target.received(1);
    assert.equal((await follow(subscriber, 'disable')).json<{ state: string }>().state, 'disabled');
    await postAll(topic, ['two', 'three']);
    const marker = await service.target();
    await topic.register('post-message', `${marker.url}/in`);
    await topic.post('four');
    await marker.received(1);
    assert.equal(target.accepted.length, 1);
    const links = (await look(subscriber)).links.map(({ rel }) => rel);
    assert.ok(links.includes('enable') && !links.includes('disable') && !links.includes('try-now'), links.join());
    assert.equal((await follow(subscriber, 'enable')).json<{ state: string }>().state, 'active');
    assert.deepEqual(
      (await target.received(4)).map(({ body }) => body),
      ['one', 'two', 'three', 'four'],
    );
  });

  test('what waits to be tried again can be tried now', async () => {
    const topic = await service.topic();
    const target = await service.target();
    target.whim = (_, response) => {
      response.writeHead(503, { 'Retry-After': '3600' }).end();
      return true;
    };
    const subscriber = await topic.register('post-message', `${target.url}/in`);
    await topic.post('one');
    const retrying = await until(subscriber, 'it is retrying', isState('retrying'));
    assert.ok(Date.parse((retrying as unknown as { 'next-try': string })['next-try']) > Date.now() + 3_000_000);
    target.whim = undefined;
    assert.equal((await follow(subscriber, 'try-now')).status, 200);
    await target.received(1);
    await until(subscriber, 'it is active again', ({ state, tries }) => state === 'active' && tries === undefined);
    const again = await request(`${subscriber}/try-now`, { method: 'POST' });
    assert.equal(again.status, 409);
  });

  test('a subscriber goes with its destination', async () => {
    const topic = await service.topic();
    const target = await service.target();
    const subscriber = await topic.register('post-message', `${target.url}/in`);
    assert.equal((await request(topic.url, { method: 'DELETE' })).status, 204);
    assert.equal((await request(subscriber)).status, 404);
    await topic.create();
    await topic.post('nobody gets this');
    const list = await request(`${topic.url}/subscribers`, { headers: { accept: 'application/json' } });
    assert.deepEqual(list.json<{ items: unknown[] }>().items, []);
    assert.equal(target.asked.length, 0);
  });
});
