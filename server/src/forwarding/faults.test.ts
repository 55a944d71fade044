/** Each test has a real server that misbehaves in its own way. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import { eventually } from '../../../testing/eventually.ts';
import { request } from '../../../testing/http.ts';
import { startWaypost } from '../../../testing/waypost.ts';
import { follow, isState, look, Place, type SubscriberJson, until, withService } from './service.fixtures.ts';
import type { Target } from './target.fixtures.ts';

type Fault = (response: ServerResponse) => void;

/** Misbehaves that many times on paths that begin so, after it has accepted the message if so told. */
function misbehave(target: Target, prefix: string, times: number, fault: Fault): { count: number } {
  const seen = { count: 0 };
  target.whim = (incoming, response) => {
    if (!incoming.url?.startsWith(prefix) || seen.count >= times) return false;
    seen.count += 1;
    fault(response);
    return true;
  };
  return seen;
}

const errorOf = ({ attempts }: SubscriberJson): string => attempts.map(({ error }) => error ?? '').join('; ');

forEachEngine('faults of targets', (engine) => {
  const service = withService(engine);

  /** A fault from which forwarding recovers by trying again. */
  async function recovers(fault: Fault, error: RegExp): Promise<void> {
    await Promise.all([recoversBy('post-message', fault, error), recoversBy('post-message-once', fault, error)]);
  }

  async function recoversBy(rel: 'post-message' | 'post-message-once', fault: Fault, error: RegExp): Promise<void> {
    const place = await (rel === 'post-message' ? service.queue() : service.topic());
    const target = await service.target();
    misbehave(target, rel === 'post-message' ? '/in' : '/next', 1, fault);
    const subscriber = await place.register(rel, `${target.url}/${rel === 'post-message' ? 'in' : 'once'}`);
    await place.post('one');
    await place.post('two');
    const accepted = await target.received(2);
    assert.deepEqual(
      accepted.map(({ body }) => body),
      ['one', 'two'],
    );
    const found = await until(subscriber, 'it is active again', ({ counters }) => counters.forwarded === 2);
    assert.equal(found.state, 'active');
    assert.equal(found.counters.failed, 1);
    assert.match(errorOf(found), error);
  }

  test('faults that pass', { concurrency: true }, async (t) => {
    await Promise.all([
      t.test('500, then 200', () => recovers((response) => response.writeHead(500).end(), /answered 500/)),
      t.test('429', () => recovers((response) => response.writeHead(429).end(), /answered 429/)),
      t.test('closes without an answer', () => recovers((response) => response.socket?.destroy(), /network: /)),
      t.test('closes mid-answer', () =>
        recovers((response) => {
          response.writeHead(200, { 'Content-Length': 100 });
          response.write('half', () => response.socket?.destroy());
        }, /network: /),
      ),
      t.test('garbage headers', () =>
        recovers((response) => {
          response.socket?.end('HTTP/1.1 200 OK\r\nthis is no header\r\n\r\n');
        }, /bad-answer: /),
      ),
      t.test('headers without end', () =>
        recovers((response) => {
          response.socket?.end(`HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(100_000)}\r\n\r\n`);
        }, /too-large: /),
      ),
      t.test('hangs', () => recovers(() => {}, /timeout: /)),
      t.test('drips an answer without end', () =>
        recovers((response) => {
          response.writeHead(200);
          const timer = setInterval(() => response.write('.'), 100);
          response.on('close', () => clearInterval(timer));
        }, /timeout: /),
      ),
      t.test('503 with Retry-After in seconds', async () => {
        const started = performance.now();
        await recovers((response) => response.writeHead(503, { 'Retry-After': '3' }).end(), /answered 503/);
        assert.ok(performance.now() - started >= 2900, 'it came back before it was asked to');
      }),
      t.test('503 with Retry-After as a date', async () => {
        const started = performance.now();
        await recovers((response) => {
          const date = new Date(Date.now() + 4000).toUTCString();
          response.writeHead(503, { 'Retry-After': date }).end();
        }, /answered 503/);
        assert.ok(performance.now() - started >= 2900, 'it came back before it was asked to');
      }),
      t.test('answers slowly, but in time', async () => {
        const topic = await service.topic();
        const target = await service.target();
        target.whim = (_, response, body) => {
          if (body !== 'slow') return false;
          setTimeout(() => response.writeHead(200).end('at last'), 1500);
          return true;
        };
        const subscriber = await topic.register('post-message', `${target.url}/in`);
        await topic.post('slow');
        await topic.post('fast');
        await target.received(1);
        const found = await until(subscriber, 'both are counted', ({ counters }) => counters.forwarded === 2);
        assert.equal(found.counters.failed, 0);
      }),
      t.test('refuses connections', async () => {
        const topic = await service.topic();
        // Nobody listens there. A port that was just closed may be given to another test.
        const subscriber = await topic.register('post-message-once', 'http://127.0.0.1:9/once');
        await topic.post('one');
        const found = await until(subscriber, 'it has failed twice', ({ tries = 0 }) => tries >= 2);
        assert.equal(found.state, 'retrying');
        assert.match(errorOf(found), /network: .*ECONNREFUSED/);
      }),
    ]);
  });

  test('an accepted message whose answer was lost is recognised by 405 and not sent twice', async () => {
    for (const kind of ['queue', 'topic'] as const) {
      const place = await service[kind]();
      const target = await service.target();
      let lost = 0;
      target.whim = (incoming, response, body) => {
        if (!incoming.url?.startsWith('/next/') || body !== 'two' || lost > 0) return false;
        lost += 1;
        // Let the pattern take its course, but let nobody hear of it.
        const { socket } = response;
        response.writeHead = () => response;
        response.end = () => {
          socket?.destroy();
          return response;
        };
        return false;
      };
      const subscriber = await place.register('post-message-once', `${target.url}/once`);
      for (const body of ['one', 'two', 'three']) await place.post(body);
      const found = await until(subscriber, 'all are through', ({ counters }) => counters.forwarded === 3);
      assert.deepEqual(
        target.accepted.map(({ body }) => body),
        ['one', 'two', 'three'],
      );
      assert.ok(found.attempts.some(({ status }) => status === 405));
      assert.equal(found.state, 'active');
    }
  });

  test('410 on a create-next: the new one is taken at once', async () => {
    const topic = await service.topic();
    const target = await service.target();
    const gone = misbehave(target, '/next/', 1, (response) =>
      response.writeHead(410, { Link: '</next/fresh>; rel="create-next"' }).end(),
    );
    const subscriber = await topic.register('post-message-once', `${target.url}/once`);
    await topic.post('one');
    const [arrival] = await target.received(1);
    assert.deepEqual([arrival?.body, arrival?.path, gone.count], ['one', '/next/fresh', 1]);
    const found = await until(subscriber, 'it is counted', ({ counters }) => counters.forwarded === 1);
    assert.equal(found.state, 'active');
  });

  test('410 on the registered href disables the subscriber', async () => {
    for (const rel of ['post-message', 'post-message-once', 'post-batch']) {
      const queue = await service.queue();
      const target = await service.target();
      misbehave(target, '/', 1, (response) => response.writeHead(410).end());
      const subscriber = await queue.register(rel, `${target.url}/gone`);
      await queue.post('one');
      const found = await until(subscriber, 'it is disabled', isState('disabled'));
      assert.match(found.reason ?? '', /410/);
      // What it held is there for others again.
      const answer = await eventually('it is back', async () => {
        const answer = await queue.receive();
        return answer.status === 200 ? answer : undefined;
      });
      assert.equal(answer.text(), 'one');
    }
  });

  for (const [what, fault] of [
    ['302', (response) => response.writeHead(302, { Location: '/elsewhere' }).end()],
    ['404', (response) => response.writeHead(404).end()],
  ] as [string, Fault][]) {
    test(`${what} from a queue: the message is dead at once, the next one is tried`, async () => {
      const queue = await service.queue();
      const target = await service.target();
      misbehave(target, '/in', 1, fault);
      const subscriber = await queue.register('post-message', `${target.url}/in`);
      await queue.post('unwanted', { 'content-type': 'text/plain' });
      await queue.post('wanted');
      assert.equal((await target.received(1))[0]?.body, 'wanted');
      assert.ok(!target.asked.some(({ path }) => path === '/elsewhere'));
      const dead = await request(`${service.url}/queues/${queue.name}.dead/receiving`, { method: 'POST' });
      assert.equal(dead.text(), 'unwanted');
      assert.match(dead.headers['message-dead-reason'] ?? '', new RegExp(what));
      assert.equal(dead.links.find(({ rel }) => rel === 'generator')?.href, queue.url);
      const found = await until(subscriber, 'both are counted', ({ counters }) => counters.forwarded === 1);
      assert.deepEqual([found.state, found.counters.dead], ['active', 1]);
      const notices = await request(`${service.url}/operator-notices`);
      assert.ok(notices.text().includes(`"subscriber.dead-letter"`));
      assert.ok(notices.text().includes(subscriber));
    });

    test(`${what} from a topic: disabled at that message; enable resumes there, skip after it`, async () => {
      const topic = await service.topic();
      const target = await service.target();
      misbehave(target, '/in', 2, fault);
      const subscriber = await topic.register('post-message', `${target.url}/in`);
      for (const body of ['one', 'two', 'three']) await topic.post(body);
      const found = await until(subscriber, 'it is disabled', isState('disabled'));
      assert.match(found.reason ?? '', new RegExp(what));
      const notices = (await request(`${service.url}/operator-notices`)).json<{
        items: { kind: string; links: { rel: string; href: string }[] }[];
      }>();
      const notice = notices.items.find(({ links }) => links.some(({ href }) => href === subscriber));
      assert.equal(notice?.kind, 'subscriber.disabled');
      const skip = notice?.links.find(({ rel }) => rel === 'enable-skip')?.href ?? assert.fail();
      assert.equal(found.links.find(({ rel }) => rel === 'enable-skip')?.href, skip);
      await follow(subscriber, 'enable');
      await until(
        subscriber,
        'it is disabled again',
        ({ state, counters }) => state === 'disabled' && counters.failed === 2,
      );
      assert.equal((await request(skip, { method: 'POST' })).status, 200);
      assert.deepEqual(
        (await target.received(2)).map(({ body }) => body),
        ['two', 'three'],
      );
    });
  }

  test('one unwanted message of a batch does not take the others along', async () => {
    const queue = await service.queue();
    const target = await service.target();
    target.whim = (_, response, body) => {
      if (!body.includes('poison')) return false;
      response.writeHead(422).end();
      return true;
    };
    const subscriber = await queue.register('post-batch', `${target.url}/batch`);
    await follow(subscriber, 'disable');
    for (const body of ['one', 'poison', 'three']) await queue.post(body);
    await follow(subscriber, 'enable');
    const found = await until(subscriber, 'all are done', ({ counters }) => counters.forwarded + counters.dead === 3);
    assert.deepEqual([found.counters.forwarded, found.counters.dead], [2, 1]);
    const dead = await request(`${service.url}/queues/${queue.name}.dead/receiving`, { method: 'POST' });
    assert.equal(dead.text(), 'poison');
  });

  test('what is refused by the target of a queue that has become a dead-letter queue meanwhile stays in it', async () => {
    const queue = await service.queue();
    const target = await service.target();
    const asked = Promise.withResolvers<ServerResponse>();
    target.whim = (_, response) => {
      asked.resolve(response);
      return true;
    };
    const subscriber = await queue.register('post-message', `${target.url}/in`);
    await queue.post('refused');
    const response = await asked.promise;
    const naming = {
      method: 'PUT',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `dead-letter=${queue.name}`,
    };
    assert.equal((await request(`${service.url}/queues/naming-${queue.name}`, naming)).status, 201);
    response.writeHead(422).end();
    await until(subscriber, 'it is disabled', ({ state }) => state === 'disabled');
    assert.equal((await request(`${service.url}/queues/${queue.name}.dead`)).status, 404);
    const kept = await request(`${service.url}/queues/${queue.name}/receiving`, { method: 'POST' });
    assert.equal(kept.text(), 'refused');
  });

  test('an answer of 1 GiB is not read', async () => {
    const queue = await service.queue();
    const target = await service.target();
    const GIBIBYTE = 2 ** 30;
    let written = 0;
    misbehave(target, '/in', 1, (response) => {
      response.writeHead(200, { 'Content-Length': GIBIBYTE });
      const piece = Buffer.alloc(65536);
      const go = (): void => {
        while (written < GIBIBYTE && !response.destroyed) {
          written += piece.length;
          if (!response.write(piece)) break;
        }
      };
      response.on('drain', go);
      go();
    });
    const subscriber = await queue.register('post-message', `${target.url}/in`);
    await queue.post('one');
    await queue.post('two');
    await target.received(1);
    const found = await until(subscriber, 'both are counted', ({ counters }) => counters.forwarded === 2);
    assert.equal(found.counters.failed, 0);
    assert.ok(written < GIBIBYTE / 4, `${written} bytes were written`);
  });

  test('a create-next that points at a refused address is not called, and a better one is asked for', async () => {
    const topic = await service.topic();
    const target = await service.target();
    misbehave(target, '/once', 1, (response) =>
      response.writeHead(200, { Link: '<http://10.0.0.1/next/1>; rel="create-next"' }).end(),
    );
    const subscriber = await topic.register('post-message-once', `${target.url}/once`);
    await topic.post('one');
    assert.equal((await target.received(1))[0]?.body, 'one');
    const found = await until(subscriber, 'it is counted', ({ counters }) => counters.forwarded === 1);
    assert.match(errorOf(found), /refused-address: .*10\.0\.0\.1/);
  });

  test('a target that says nothing useful when asked for a link is asked again', async () => {
    const topic = await service.topic();
    const target = await service.target();
    misbehave(target, '/once', 1, (response) => response.writeHead(200).end('hello'));
    const subscriber = await topic.register('post-message-once', `${target.url}/once`);
    await topic.post('one');
    await target.received(1);
    assert.match(errorOf(await look(subscriber)), /without a create-next link/);
  });

  test('a message that fails for longer than patience is given up', async () => {
    const database = await engine.database();
    const waypost = await startWaypost({ args: [...database.args, '--forward-patience', '2'] });
    try {
      const target = await service.target();
      target.whim = (_, response, body) => {
        if (body === 'fine') return false;
        response.writeHead(500).end();
        return true;
      };
      const queue = new Place(waypost.url, 'queues', 'q');
      const topic = new Place(waypost.url, 'topics', 't');
      await Promise.all([queue.create(), topic.create()]);
      const fromQueue = await queue.register('post-message', `${target.url}/in`);
      const fromTopic = await topic.register('post-message-once', `${target.url}/once`);
      await Promise.all([queue.post('bad'), topic.post('bad')]);
      await queue.post('fine');
      assert.equal((await target.received(1))[0]?.body, 'fine');
      await until(fromQueue, 'it is dead', ({ counters }) => counters.dead === 1);
      const stopped = await until(fromTopic, 'it is disabled', isState('disabled'));
      assert.match(stopped.reason ?? '', /not delivered in \d+ tries/);
      // The first, and one when patience ends; a slow machine may have no time for those between.
      assert.ok(stopped.attempts.length >= 2);
    } finally {
      await waypost.stop();
      await database.drop();
    }
  });
});

test('a dead target does not keep others of the same service waiting', { timeout: 60_000 }, async (t) => {
  const sockets = new Set<Socket>();
  const hanging = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    hanging.close();
  });
  const { startTarget } = await import('./target.fixtures.ts');
  const target = await startTarget();
  const waypost = await startWaypost();
  t.after(async () => {
    await waypost.stop();
    await target.close();
  });
  const topic = new Place(waypost.url, 'topics', 't');
  await topic.create();
  const { port } = hanging.address() as { port: number };
  const dead: string[] = [];
  for (let i = 0; i < 20; i++) dead.push(await topic.register('post-message', `http://127.0.0.1:${port}/${i}`));
  await topic.register('post-message', `${target.url}/in`);
  for (let i = 0; i < 50; i++) await topic.post(String(i));
  await target.received(50);
  // None of the others has even timed out yet.
  for (const subscriber of dead) assert.deepEqual((await look(subscriber)).attempts, []);
});

test('a name that resolves to a public and then to a loopback address is not called', async (t) => {
  const { startTarget } = await import('./target.fixtures.ts');
  const target = await startTarget();
  const preload = join(import.meta.dirname, 'rebinding.fixtures.ts');
  // Bound to more than loopback, so loopback is refused.
  const waypost = await startWaypost({ args: ['--host', '0.0.0.0'], env: { NODE_OPTIONS: `--import ${preload}` } });
  t.after(async () => {
    await waypost.stop();
    await target.close();
  });
  const topic = new Place(`http://127.0.0.1:${waypost.port}`, 'topics', 't');
  await topic.create();
  const subscriber = await topic.register('post-message', `http://rebinding.example:${new URL(target.url).port}/in`);
  await topic.post('one');
  const found = await until(subscriber, 'it has failed twice', ({ tries = 0 }) => tries >= 2);
  assert.match(errorOf(found), /refused-address: .*127\.0\.0\.1/);
  assert.equal(target.asked.length, 0);
  // Named outright it is refused at once, and so is every other address that is not public.
  for (const href of [`${target.url}/in`, 'http://localhost/', 'http://169.254.169.254/latest/', 'http://[::1]/']) {
    const answer = await request(`${topic.url}/subscribers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ rel: 'post-message', href }),
    });
    assert.equal(answer.status, 422, href);
    assert.match(answer.text(), /address-refused/);
  }
  // The service itself may be called wherever it listens.
  const queue = new Place(`http://127.0.0.1:${waypost.port}`, 'queues', 'q');
  await queue.create();
  await topic.register('post-message', `${queue.url}/messages`);
  await topic.post('two');
  await eventually('it went to the queue', async () => (await queue.receive()).status === 200);
});
