/** Races of a topic: readers that follow `next` skip nothing and repeat nothing, whatever is posted meanwhile. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../../../testing/eventually.ts';
import { createSealer } from '../../src/ids.ts';
import type { Destination } from '../../src/messaging/destination.ts';
import { createReading } from '../../src/messaging/usecases/reading.ts';
import { createWaiters } from '../../src/messaging/usecases/waiters.ts';
import { createWaiting } from '../../src/messaging/usecases/waiting.ts';
import type { Store } from '../../src/store/store.ts';
import { bodyOf, create, draft, type Nodes, patient, post, race, range, redeliverOn, SIXTEEN } from './nodes.ts';

export function topicRaces(nodes: () => Nodes): void {
  /** Follows `next` until so many messages were read. */
  async function follow(
    topic: Destination,
    turn: number,
    max: number,
    start: string,
    wanted: number,
  ): Promise<string[]> {
    const { reading } = nodes().node(turn);
    const bodies: string[] = [];
    let position = start;
    while (bodies.length < wanted) {
      const { messages, gap } = await reading.after(topic, position, { max, wait: 1 }, patient);
      assert.equal(gap, false, 'nothing was removed, so nothing may be missing');
      bodies.push(...messages.map(bodyOf));
      const last = messages.at(-1);
      if (last !== undefined) position = reading.positionOf(topic, last);
    }
    return bodies;
  }

  it('two hundred and fifty-six posters on two nodes: every reader sees every message once, all in the same order', async () => {
    const EACH = 4;
    const posters = range(256);
    const topic = await create(nodes(), 'topic');
    const start = await nodes().node(0).reading.position(topic);
    const wanted = posters.length * EACH;
    const reading = range(8).map((turn) => follow(topic, turn, [1, 7, 100][turn % 3] ?? 1, start, wanted));
    await race(
      posters.map((poster) => async () => {
        for (const part of range(EACH)) {
          const node = nodes().node(poster + part);
          if (part % 4 !== 3) await post(node, topic, `${poster}.${part}`, { persistent: part % 2 === 0 });
          else {
            const links = node.once.of('topic', poster % 2 === 0);
            await links.use(topic.name, links.issue(topic.name), () => [draft(`${poster}.${part}`)], { wishes: {} });
          }
        }
      }),
    );
    const [first = [], ...others] = await Promise.all(reading);
    assert.equal(new Set(first).size, wanted, 'none twice');
    for (const other of others) assert.deepEqual(other, first);
    for (const poster of posters) {
      const own = first.filter((body) => body.startsWith(`${poster}.`));
      assert.deepEqual(
        own,
        range(EACH).map((part) => `${poster}.${part}`),
        'in the order in which it was answered',
      );
    }
  });

  it('delayed messages appear once, without a gap, while others are posted', async () => {
    const topic = await create(nodes(), 'topic');
    const start = await nodes().node(0).reading.position(topic);
    await race(range(32).map((turn) => () => post(nodes().node(turn), topic, `delayed ${turn}`, { delay: 5 })));
    const reading = range(4).map((turn) => follow(topic, turn, [1, 5][turn % 2] ?? 1, start, 64));
    nodes().clock.time += 5000;
    await race([
      ...range(6).map((turn) => async () => void (await redeliverOn(nodes().node(turn)))),
      ...range(32).map((turn) => async () => void (await post(nodes().node(turn), topic, `direct ${turn}`))),
    ]);
    // What one step held while another looked is left to the next.
    await redeliverOn(nodes().node(0));
    const [first = [], ...others] = await Promise.all(reading);
    assert.equal(new Set(first).size, 64);
    for (const other of others) assert.deepEqual(other, first);
  });

  it('a delayed batch appears in its order, however many nodes bring it out', async () => {
    const topic = await create(nodes(), 'topic');
    const start = await nodes().node(0).reading.position(topic);
    const bodies = range(700).map(String);
    const { kind, name } = topic;
    await nodes()
      .node(0)
      .posting.post({ kind, name, drafts: bodies.map(draft), wishes: { delay: 60 } });
    nodes().clock.time += 61_000;
    await race(SIXTEEN.map((turn) => () => redeliverOn(nodes().node(turn))));
    assert.deepEqual(await follow(topic, 1, 100, start, bodies.length), bodies);
  });

  it('a reader who knows that a message was stored finds it, though an earlier look is still under way', async () => {
    const topic = await create(nodes(), 'topic');
    const [store] = nodes().stores as [Store];
    const { reading } = nodes().node(0);
    const sealer = createSealer(store.secret);
    const start = await reading.position(topic);
    let held: (() => void) | undefined;
    const release = new Promise<void>((resolve) => {
      held = resolve;
    });
    let looks = 0;
    const slow: Store = {
      ...store,
      // The first look has seen the topic, but its answer is long on its way.
      async read(job) {
        const found = await store.read(job);
        if (Array.isArray(found) && looks++ === 0) await release;
        return found;
      },
    };
    const shared = createReading(slow, createWaiting(createWaiters(10)), sealer);
    const look = () => shared.after(topic, start, { max: 1, wait: 0 }, patient);
    const early = look();
    await eventually('the first look', () => looks > 0);
    await post(nodes().node(0), topic, 'stored');
    const late = look();
    // Time enough for a look of its own.
    for (const _ of range(3)) await store.ping();
    held?.();
    const { messages } = await late;
    assert.deepEqual(messages.map(bodyOf), ['stored']);
    assert.deepEqual((await early).messages, []);
  });

  it('readers who ask together share a look', async () => {
    const topic = await create(nodes(), 'topic');
    const [store] = nodes().stores as [Store];
    const { reading } = nodes().node(0);
    const sealer = createSealer(store.secret);
    const start = await reading.position(topic);
    await post(nodes().node(0), topic, 'one');
    let looks = 0;
    let checked = 0;
    const { promise: allChecked, resolve: goOn } = Promise.withResolvers<void>();
    const counting: Store = {
      ...store,
      async read(job) {
        const found = await store.read(job);
        if (Array.isArray(found)) looks++;
        else {
          // The first step of each checks the position, and gives a number. From there they go on in one turn.
          if (++checked === SIXTEEN.length) goOn();
          await allChecked;
        }
        return found;
      },
    };
    const shared = createReading(counting, createWaiting(createWaiters(10)), sealer);
    const answers = await race(SIXTEEN.map(() => () => shared.after(topic, start, { max: 1, wait: 0 }, patient)));
    for (const { messages } of answers) assert.deepEqual(messages.map(bodyOf), ['one']);
    assert.equal(looks, 1);
  });
}
