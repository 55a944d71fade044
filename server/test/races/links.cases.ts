/** Create-next links whose messages go: a link that was used stays used, whichever way its message went and whoever asks. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPruner } from '../../src/duties/prune.ts';
import { sweepDoomed } from '../../src/duties/sweep.ts';
import type { Destination } from '../../src/messaging/destination.ts';
import { releaseAll, undoAll } from '../../src/transactions/queries/held.ts';
import {
  ACKNOWLEDGE,
  create,
  draft,
  type Kind,
  type Nodes,
  patient,
  poll,
  race,
  range,
  redeliver,
  settle,
  sweep,
  tally,
} from './nodes.ts';

const DAY = 86_400_000;
/** What has expired is kept so long. */
const HOUR = 3_600_000;

async function forget({ stores, clock }: Nodes): Promise<void> {
  clock.time += 2_000;
  for (const store of stores) {
    const prune = createPruner(store, DAY);
    while ((await prune()) === 0);
  }
}

async function remake(nodes: Nodes, { kind, name }: Destination): Promise<void> {
  for (const node of [nodes.node(0), nodes.node(1)]) node.destinations.forget(kind, name);
  await create(nodes, kind, {}, name);
}

type Way = (nodes: Nodes, destination: Destination, id: number) => Promise<void>;

const removeByForce: Way = (nodes, destination) => nodes.node(0).destinations.remove(destination, true, () => {});

/** What may become of a message. */
const WAYS: Readonly<Record<Kind, Readonly<Record<string, Way>>>> = {
  queue: {
    'it waits': async () => {},
    'it is leased': async (nodes, queue) => void (await poll(nodes.node(1), queue)),
    'it was received and forgotten': async (nodes, queue) => {
      await nodes.node(1).receiving.receive(queue, { max: 1, wait: 0 }, patient);
      await forget(nodes);
    },
    'it was acknowledged and forgotten': async (nodes, queue) => {
      for (const message of await poll(nodes.node(1), queue)) {
        assert.equal(await settle(nodes.node(0), queue, message, ACKNOWLEDGE), 'ok');
      }
      await forget(nodes);
    },
    'it has expired and was forgotten': async (nodes) => {
      nodes.clock.time += 60_000;
      await redeliver(nodes);
      nodes.clock.time += HOUR;
      await forget(nodes);
    },
    'it has died and was forgotten': async (nodes, queue) => {
      await poll(nodes.node(1), queue);
      nodes.clock.time += 5_000;
      await redeliver(nodes);
      await forget(nodes);
    },
    'it was deleted': (nodes, queue, id) =>
      nodes.node(1).remove(queue, nodes.node(1).publicId({ id, name: null }), () => {}),
    'it was purged': async (nodes, queue) => void (await nodes.node(1).clearing.purge(queue)),
    'its queue was deleted': removeByForce,
    'its queue was deleted and swept': async (nodes, queue, id) => {
      await removeByForce(nodes, queue, id);
      await sweep(nodes);
    },
    'its queue was deleted and made again': async (nodes, queue, id) => {
      await removeByForce(nodes, queue, id);
      await remake(nodes, queue);
    },
    'its queue was deleted, made again and swept': async (nodes, queue, id) => {
      await removeByForce(nodes, queue, id);
      await remake(nodes, queue);
      await sweep(nodes);
    },
  },
  topic: {
    'it can be read': async () => {},
    'its retention is over': (nodes) => forget(nodes),
    'its topic was deleted and swept': async (nodes, topic, id) => {
      await removeByForce(nodes, topic, id);
      await sweep(nodes);
    },
    'its topic was deleted, made again and swept': async (nodes, topic, id) => {
      await removeByForce(nodes, topic, id);
      await remake(nodes, topic);
      await sweep(nodes);
    },
  },
};

/** By which messages go within a minute. */
const SETTINGS = {
  queue: { lease: 4, 'max-deliveries': 1, retention: 0 },
  topic: { retention: 1 },
} as const;

export function linkRaces(nodes: () => Nodes): void {
  for (const kind of ['queue', 'topic'] as const) {
    for (const [way, go] of Object.entries(WAYS[kind])) {
      it(`a used link to a ${kind} stays used: ${way}`, async () => {
        for (const limits of kind === 'queue' ? [{}, { 'max-length': 50 }] : [{}]) {
          const destination = await create(nodes(), kind, { ...SETTINGS[kind], ...limits });
          const { name } = destination;
          const links = (turn: number) => nodes().node(turn).once.of(kind, false);
          const wishes = way.includes('expired') ? { ttl: 30 } : {};
          const use = (token: string, turn = 0) => links(turn).use(name, token, () => [draft('x')], { wishes });
          let token = links(0).issue(name);
          // The first link of a chain, and one that follows.
          for (const round of range(2)) {
            const posted = await use(token, round);
            assert.ok(posted?.state === 'posted');
            await go(nodes(), await nodes().node(0).destinations.get(kind, name), posted.ids[0] ?? 0);
            for (const turn of [0, 1]) {
              assert.deepEqual(await links(turn).look(name, token), { state: 'used', ids: posted.ids });
              assert.equal((await use(token, turn))?.state, 'used');
              const broken = links(turn).use(name, token, () => assert.fail('not asked for'), { wishes });
              assert.equal((await broken)?.state, 'used', 'whatever the body');
            }
            const next = await links(1).look(name, posted.next);
            assert.equal(next?.state, 'unused');
            token = posted.next;
            for (const turn of [0, 1]) nodes().node(turn).destinations.forget(kind, name);
            if ((await nodes().node(0).destinations.find(kind, name)) === undefined) await remake(nodes(), destination);
          }
          assert.equal((await use(token, 1))?.state, 'posted');
        }
      });
    }
  }

  it('links that both nodes use at once, while everything is removed at once: each is used once', async () => {
    const [store = assert.fail('there is one')] = nodes().stores;
    const prune = createPruner(store, DAY);
    for (const kind of ['queue', 'topic'] as const) {
      const destination = await create(nodes(), kind, { retention: 0 });
      const { id, name } = destination;
      let isOver = false;
      const removals = [
        async () => {
          if (kind === 'queue') await nodes().node(0).receiving.receive(destination, { max: 20, wait: 0 }, patient);
          nodes().clock.time++;
          await prune();
        },
        async () => {
          if (kind === 'queue') await nodes().node(1).clearing.purge(destination);
        },
        async () => {
          // Sweeps the messages of a destination that is there after all.
          await store.transaction((tx) => tx.run('INSERT INTO doomed_destination (id) VALUES ($1)', [id]));
          while ((await sweepDoomed(store)) === 0);
        },
      ].map(async (remove) => {
        while (!isOver) {
          await remove();
          await new Promise(setImmediate);
        }
      });
      const links = (turn: number) => nodes().node(turn).once.of(kind, false);
      const use = (token: string, turn: number) => links(turn).use(name, token, () => [draft('x')], { wishes: {} });
      const chains = range(16).map(async (chain) => {
        let token = links(0).issue(name);
        const earlier: string[] = [];
        for (const n of range(25)) {
          const again = earlier[(n * 7) % Math.max(earlier.length, 1)] ?? token;
          const outcomes = await race([
            () => use(token, chain),
            () => use(again, chain + n),
            () => use(token, chain + 1),
          ]);
          const states = [outcomes[0], outcomes[2], ...(again === token ? [outcomes[1]] : [])];
          const expected = { posted: 1, used: states.length - 1 };
          assert.deepEqual(tally(states.map((outcome) => outcome?.state)), expected, `link ${n} of ${chain}`);
          if (again !== token) assert.equal(outcomes[1]?.state, 'used', `an earlier link of ${chain}`);
          earlier.push(token);
          token = outcomes.find((outcome) => outcome?.state === 'posted')?.next ?? assert.fail('one has won');
        }
      });
      await Promise.all(chains).finally(() => {
        isOver = true;
      });
      await Promise.all(removals);
    }
  });

  it('a link that a transaction took is free after a rollback, and used after a commit, also when all is forgotten', async () => {
    const [store = assert.fail('there is one')] = nodes().stores;
    for (const kind of ['queue', 'topic'] as const) {
      const { id: destination } = await create(nodes(), kind, SETTINGS[kind]);
      const chain = store.nextId();
      for (const n of range(4).map((index) => index + 1)) {
        const message = { id: store.nextId() * 2, contentType: null, headers: '[]', body: Buffer.from(''), rank: 5 };
        const posting = {
          destination,
          kind,
          posted: store.now(),
          messages: [{ ...message, expires: null, delayedUntil: null }],
          once: { chain, n, expires: store.now() + 30 * DAY },
        };
        const held = store.nextId();
        const hold = () => store.transaction((tx) => store.messages.postIn(tx, { ...posting, held }));
        assert.equal(await hold(), 'stored');
        assert.equal(await store.messages.post(posting), 'once-used');
        await store.transaction((tx) => undoAll(tx, held));
        // Free, for a transaction or for a post of its own.
        if (n % 2 === 0) assert.equal(await store.messages.post(posting), 'stored');
        else {
          assert.equal(await hold(), 'stored');
          await store.transaction((tx) => releaseAll(tx, held, store.now()));
        }
        assert.equal(await hold(), 'once-used');
        if (kind === 'queue') {
          const claim = { destination, max: 5, maxBytes: 1000, mode: 'consume', due: 1, token: 1 } as const;
          await store.messages.claim({ ...claim, now: store.now() });
        }
        await forget(nodes());
        for (const each of nodes().stores) assert.equal(await each.messages.post(posting), 'once-used');
        assert.equal(await hold(), 'once-used');
      }
    }
  });
}
