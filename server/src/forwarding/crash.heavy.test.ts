/**
 * Two services: one forwards to the other, and both are killed with -9 at random moments, again and again. Through
 * post-message-once the target ends up with each message exactly once and in order; through post-message none is missing.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type CrashNode, createNode } from '../../../testing/crash/node.ts';
import { chooseSeed, type Random, seededRandom } from '../../../testing/crash/random.ts';
import { forEachEngine } from '../../../testing/engines.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type Answer, request } from '../../../testing/http.ts';
import { look } from './service.fixtures.ts';

const KILLS = 50;
/** The longest a service lives between a start and its kill, in milliseconds. */
const LONGEST_LIFE = 700;
const BETWEEN_POSTS = 4;

interface Way {
  readonly kind: 'queue' | 'topic';
  readonly rel: 'post-message' | 'post-message-once';
  /** Where messages start and where they end up. */
  readonly from: string;
  readonly to: string;
}

const WAYS: readonly Way[] = (['queue', 'topic'] as const).flatMap((kind) =>
  (['post-message', 'post-message-once'] as const).map((rel) => ({
    kind,
    rel,
    from: `/${kind}s/${kind}-${rel}`,
    to: `/queues/${kind}-${rel}-arrived`,
  })),
);

/** Repeats a request until it is answered, whatever happens to the service meanwhile. */
async function insist(node: CrashNode, path: string, options: Parameters<typeof request>[1] = {}): Promise<Answer> {
  for (;;) {
    await node.whenUp();
    try {
      const answer = await request(path.startsWith('http') ? path : node.url + path, { timeout: 10_000, ...options });
      if (answer.status < 500) return answer;
    } catch {
      // Killed, or not listening yet.
    }
    await pause(10);
  }
}

/** Posts numbered messages, each exactly once, until told to stop; gives how many. */
async function post(node: CrashNode, { from }: Way, stopped: () => boolean): Promise<number> {
  let link = (await insist(node, `${from}/post-once`, { method: 'POST' })).link('create-next');
  let count = 0;
  while (!stopped()) {
    count += 1;
    const answer = await insist(node, link, { method: 'POST', body: String(count) });
    assert.ok(answer.status === 200 || answer.status === 405, `${answer.status} ${answer.text()}`);
    link = answer.link('create-next');
    await pause(BETWEEN_POSTS);
  }
  return count;
}

async function killAgainAndAgain(node: CrashNode, random: Random): Promise<void> {
  for (let count = 0; count < KILLS; count++) {
    await pause(random.below(LONGEST_LIFE));
    await node.kill();
    await node.start();
  }
}

async function drain(node: CrashNode, queue: string): Promise<number[]> {
  const found: number[] = [];
  for (;;) {
    const answer = await request(`${node.url}${queue}/receiving`, { method: 'POST' });
    if (answer.status === 204) return found;
    assert.equal(answer.status, 200, answer.text());
    found.push(Number(answer.text()));
  }
}

forEachEngine('forwarding and target killed at random', (engine) => {
  test(`${KILLS} times each`, { timeout: 600_000 }, async (t) => {
    const seed = chooseSeed();
    t.diagnostic(`WAYPOST_CRASH_SEED=${seed}`);
    const random = seededRandom(seed);
    const [here, there] = [await engine.database(), await engine.database()];
    const [forwarder, target] = [await createNode(here.options), await createNode(there.options)];
    const subscribers = new Map<Way, string>();
    for (const way of WAYS) {
      await insist(forwarder, way.from, { method: 'PUT' });
      await insist(target, way.to, { method: 'PUT' });
      const href = (await request(target.url + way.to, { method: 'HEAD' })).link(way.rel);
      const answer = await request(`${forwarder.url}${way.from}/subscribers`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ rel: way.rel, href }),
      });
      assert.equal(answer.status, 201, answer.text());
      subscribers.set(way, answer.headers.location ?? '');
    }
    let over = false;
    const posting = WAYS.map((way) => post(forwarder, way, () => over));
    await Promise.all([
      killAgainAndAgain(forwarder, seededRandom(random.below(2 ** 32))),
      killAgainAndAgain(target, seededRandom(random.below(2 ** 32))),
    ]);
    over = true;
    const counts = await Promise.all(posting);

    for (const [index, way] of WAYS.entries()) {
      const posted = counts[index] ?? 0;
      assert.ok(posted > KILLS, `only ${posted} messages were posted`);
      const subscriber = subscribers.get(way) ?? '';
      const arrived: number[] = [];
      await eventually(
        `all of ${way.from} have come`,
        async () => {
          arrived.push(...(await drain(target, way.to)));
          if (arrived.at(-1) === posted) return true;
          // The last pause of a retry need not be waited for.
          const { state, links } = await look(subscriber);
          const now = links.find(({ rel }) => rel === 'try-now')?.href;
          if (state === 'retrying' && now !== undefined) await request(now, { method: 'POST' });
          return false;
        },
        60_000,
      );
      const expected = Array.from({ length: posted }, (_, i) => i + 1);
      if (way.rel === 'post-message-once') assert.deepEqual(arrived, expected, way.from);
      else {
        const missing = expected.filter((number) => !arrived.includes(number));
        assert.deepEqual(missing, [], `${way.from}: missing`);
      }
      t.diagnostic(`${way.from}: ${posted} posted, ${arrived.length} arrived`);
    }
    for (const node of [forwarder, target]) await node.kill();
    await Promise.all([here.drop(), there.drop()]);
  });
});
