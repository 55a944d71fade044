/**
 * Thousands of subscribers mean neither thousands of timers nor thousands of queries: not while they wait, not when a
 * node takes them over, and not while each of them gets a message. WAYPOST_SUBSCRIBERS=10000 makes it more of them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forEachEngine } from '../../../testing/engines.ts';
import { eventually } from '../../../testing/eventually.ts';
import { openYard, type Yard } from './many.fixtures.ts';
import { DISABLED } from './subscriber.ts';
import { startTarget } from './target.fixtures.ts';

const COUNT = Number(process.env.WAYPOST_SUBSCRIBERS ?? 2000);
const QUEUES = 50;
const LOOKS = 1;
const TOGETHER = 100;
/** Every look begins with it. */
const LOOK = 'SET attention = 0';
/** What may be on its way to one host, each with a deadline. */
const CALLS_AT_ONCE = 256;
const CALL_DEADLINE = 15_000;

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

/** Lets so many whole looks go by and gives their statements. */
function wholeLooks({ counted }: Yard): Promise<string[]> {
  const beginnings: number[] = [];
  return new Promise((resolve) => {
    counted.onText = (text) => {
      if (!text.includes(LOOK)) return;
      beginnings.push(counted.texts.length - 1);
      if (beginnings.length <= LOOKS) return;
      counted.onText = () => {};
      resolve(counted.texts.slice(beginnings[0], beginnings.at(-1)));
    };
  });
}

forEachEngine('many subscribers', (engine) => {
  test(`${COUNT} of one topic, and some of queues`, { timeout: 120_000 }, async (t) => {
    const target = await startTarget();
    const yard = await openYard(engine);
    try {
      const { destinations, posting } = yard.messaging;
      const topic = await destinations.ensure('topic', 'topic');
      await yard.subscribe(
        topic,
        Array.from({ length: COUNT }, (_, i) =>
          i % 2 === 0
            ? { rel: 'post-message', href: `${target.url}/in/${i}` }
            : { rel: 'post-message-once', href: `${target.url}/once/${i}` },
        ),
      );
      for (let i = 0; i < QUEUES; i++) {
        const queue = await destinations.ensure('queue', `queue-${i}`);
        await yard.subscribe(queue, [{ rel: 'post-message', href: `${target.url}/in` }]);
      }
      const before = timers();
      await yard.start();
      const taking = yard.counted.texts.length;
      assert.ok(taking <= 20 + COUNT / 100, `${taking} statements to take them over`);

      const idle = (await wholeLooks(yard)).length / LOOKS;
      assert.ok(idle <= 10, `${idle} statements in a second in which nothing happens`);
      const idleTimers = timers() - before;
      assert.ok(idleTimers <= 10, `${idleTimers} timers while nothing happens`);

      let busyTimers = 0;
      target.whim = () => {
        busyTimers = Math.max(busyTimers, timers() - before);
        return undefined;
      };
      const already = yard.counted.texts.length;
      const begun = performance.now();
      const draft = { contentType: 'text/plain', fields: [], body: Buffer.from('to all') };
      await posting.post({ kind: 'topic', name: 'topic', drafts: [draft], wishes: {} });
      const arrived = await target.received(COUNT);
      const took = (arrived.at(-1)?.at ?? 0) - begun;
      await eventually('all is noted', async () => (await yard.forwarded(topic)) === COUNT);
      // Until the attempts, too, are written.
      await wholeLooks(yard);
      const texts = yard.counted.texts.slice(already);
      t.diagnostic(
        `${taking} statements to take over; idle: ${idle} statements a second, ${idleTimers} timers; one message to ` +
          `each: ${texts.length} statements, at most ${busyTimers} timers, ${took.toFixed(0)} ms`,
      );
      const paths = target.accepted.map(({ path }) => path);
      assert.equal(new Set(paths).size, COUNT);
      const once = paths.filter((path) => !path.startsWith('/in/'));
      assert.equal(once.length, COUNT / 2, 'each of these came once, however late it was');
      // A machine so busy that calls run into their deadline repeats the others, which costs what it costs.
      if (took > CALL_DEADLINE) return;
      assert.equal(paths.length, COUNT);
      assert.ok(texts.length <= COUNT / 2, `${texts.length} statements to forward:\n${mostFrequent(texts)}`);
      assert.ok(busyTimers <= CALLS_AT_ONCE + 20, `${busyTimers} timers while all are forwarded to`);
    } finally {
      await yard.close();
      await target.close();
    }
  });

  test(`${TOGETHER} that are disabled together are noticed together`, { timeout: 60_000 }, async () => {
    const yard = await openYard(engine);
    try {
      const topic = await yard.messaging.destinations.ensure('topic', 'topic');
      const hrefs = Array.from({ length: TOGETHER }, (_, i) => `http://127.0.0.1:9/${i}`);
      await yard.subscribe(
        topic,
        hrefs.map((href) => ({ rel: 'post-message', href })),
      );
      await yard.start();
      const all = await yard.subscribers.list(topic, { key: undefined, backwards: false, limit: TOGETHER });
      const already = yard.counted.texts.length;
      const changed = await Promise.all(
        all.map((subscriber) => yard.subscribers.disable(topic, yard.subscribers.publicId(subscriber))),
      );
      assert.equal(changed.length, TOGETHER);
      assert.ok(changed.every(({ state }) => state === DISABLED));
      const looks = yard.counted.texts.slice(already).filter((text) => text.includes(LOOK)).length;
      assert.ok(looks <= TOGETHER / 2, `${looks} looks at what was changed`);
    } finally {
      await yard.close();
    }
  });
});

function mostFrequent(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) {
    const short = text
      .replace(/\(VALUES.*$/m, '(VALUES …')
      .replace(/\s+/g, ' ')
      .slice(0, 120);
    counts.set(short, (counts.get(short) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 5)
    .map(([text, count]) => `${count} ${text}`)
    .join('\n');
}
