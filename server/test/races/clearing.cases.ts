/** Races of purge, redrive, deletion and settings. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Counts, Destination } from '../../src/messaging/destination.ts';
import { Problem } from '../../src/problems.ts';
import {
  bodyOf,
  create,
  draft,
  type Nodes,
  outcomeOf,
  patient,
  poll,
  post,
  race,
  range,
  receiveAll,
  redeliver,
  SIXTEEN,
  settle,
  sweep,
  tally,
} from './nodes.ts';

const ROUNDS = range(5);

export function clearingRaces(nodes: () => Nodes): void {
  it('purge against posts, polls and verdicts: every message is purged, acknowledged, leased or available', async () => {
    for (const _ of ROUNDS) {
      const queue = await create(nodes(), 'queue');
      await race(SIXTEEN.map((turn) => () => post(nodes().node(turn), queue, `before ${turn}`)));
      let purged = 0;
      let acknowledged = 0;
      await race(
        range(48).map((turn) => async () => {
          const node = nodes().node(turn >> 2);
          if (turn % 4 === 0) await post(node, queue, `during ${turn}`);
          else if (turn % 4 === 1) {
            const count = await node.clearing.purge(queue);
            purged += count;
          } else {
            for (const message of await poll(node, queue, 2)) {
              const outcome = await settle(node, queue, message, { kind: 'acknowledge' });
              assert.ok(outcome === 'ok' || outcome === 'message-gone', outcome);
              if (outcome === 'ok') acknowledged++;
            }
          }
        }),
      );
      const { available, leased } = (await nodes().node(0).destinations.counts(queue)) as Counts;
      assert.equal(purged + acknowledged + available + leased, 16 + 12);
    }
  });

  /** A queue whose sixteen messages have all died. */
  async function withDeadLetters(): Promise<{ origin: Destination; deadLetters: Destination }> {
    const origin = await create(nodes(), 'queue', { lease: 1, 'max-deliveries': 1 });
    await race(SIXTEEN.map((turn) => () => post(nodes().node(turn), origin, `${turn}`)));
    assert.equal((await poll(nodes().node(0), origin, 16)).length, 16);
    nodes().clock.time += 1000;
    await redeliver(nodes());
    return { origin, deadLetters: await nodes().node(0).destinations.get('queue', `${origin.name}.dead`) };
  }

  it('redrive against redrive and a poller: every dead letter goes one way, none is doubled', async () => {
    for (const _ of ROUNDS) {
      const { origin, deadLetters } = await withDeadLetters();
      let moved = 0;
      const taken: string[] = [];
      await race(
        SIXTEEN.map((turn) => async () => {
          const node = nodes().node(turn);
          if (turn % 8 === 7) taken.push(...(await poll(node, deadLetters, 2)).map(bodyOf));
          else {
            const { moved: count } = await node.clearing.redrive(
              deadLetters,
              turn % 3 === 0 ? 3 : Number.MAX_SAFE_INTEGER,
            );
            moved += count;
          }
        }),
      );
      // A letter that one redrive has locked is passed over by the others, which do not wait for it.
      moved += (await nodes().node(0).clearing.redrive(deadLetters, Number.MAX_SAFE_INTEGER)).moved;
      const returned = await receiveAll(nodes().node(1), origin);
      assert.equal(returned.length, moved);
      assert.deepEqual([...returned, ...taken].toSorted(), SIXTEEN.map(String).toSorted());
      assert.deepEqual(await receiveAll(nodes().node(0), deadLetters), []);
    }
  });

  for (const kind of ['queue', 'topic'] as const) {
    for (const delay of [0, 5]) {
      it(`deleting a ${kind} against ${delay > 0 ? 'delayed ' : ''}posts: without force nothing that was answered is lost`, async () => {
        for (const _ of ROUNDS) {
          const { name } = await create(nodes(), kind);
          const answered: string[] = [];
          await race(
            range(24).map((turn) => async () => {
              const node = nodes().node(turn);
              for (const part of range(3)) {
                const body = `${turn}.${part}`;
                if ((await outcomeOf(post(node, { kind, name }, body, { delay }))) === 'ok') answered.push(body);
                if (turn % 3 !== 2) continue;
                const found = await node.destinations.find(kind, name);
                if (found !== undefined) await outcomeOf(node.destinations.remove(found, false, () => {}));
              }
            }),
          );
          await sweep(nodes());
          nodes().clock.time += delay * 1000;
          await redeliver(nodes());
          assert.deepEqual((await everything(kind, name)).toSorted(), answered.toSorted());
        }
      });
    }
  }

  it('deleting by force against posts: what was answered after the deletion is there', async () => {
    for (const _ of ROUNDS) {
      const { name } = await create(nodes(), 'queue');
      let deleted = false;
      const answeredAfter: string[] = [];
      const begunBefore = new Set<string>();
      await race(
        range(48).map((turn) => async () => {
          const node = nodes().node(turn);
          if (turn === 10) {
            await node.destinations.remove(await node.destinations.get('queue', name), true, () => {});
            deleted = true;
            return;
          }
          for (const part of range(4)) {
            const body = `${turn}.${part}`;
            if (!deleted) begunBefore.add(body);
            const outcome = await outcomeOf(post(node, { kind: 'queue', name }, body));
            if (outcome === 'ok' && !begunBefore.has(body)) answeredAfter.push(body);
          }
        }),
      );
      await sweep(nodes());
      const found = await everything('queue', name);
      assert.equal(new Set(found).size, found.length, 'none twice');
      assert.deepEqual(
        answeredAfter.filter((body) => !found.includes(body)),
        [],
        'posted after the deletion',
      );
      for (const body of found) assert.ok(begunBefore.has(body) || answeredAfter.includes(body), body);
    }
  });

  async function everything(kind: 'queue' | 'topic', name: string): Promise<string[]> {
    const node = nodes().node(0);
    node.destinations.forget(kind, name);
    const destination = await node.destinations.find(kind, name);
    if (destination === undefined) return [];
    if (kind === 'queue') return receiveAll(node, destination);
    const oldest = await node.reading.oldest(destination);
    if (oldest === undefined) return [];
    const position = node.reading.positionOf(destination, oldest);
    const rest = await node.reading.after(destination, position, { max: 100, wait: 0 }, patient);
    return [oldest, ...rest.messages].map(bodyOf);
  }

  it('creating against creating: one is told 201, the others that it is there', async () => {
    for (const kind of ['queue', 'topic'] as const) {
      const name = nodes().freshName();
      const outcomes = await race(
        SIXTEEN.map((turn) => () => outcomeOf(nodes().node(turn).destinations.create(kind, name, {}))),
      );
      assert.deepEqual(tally(outcomes), { ok: 1, 'destination-exists': 15 });
      await post(nodes().node(1), { kind, name }, 'it works');
      assert.deepEqual(await everything(kind, name), ['it works']);
    }
  });

  it('redrives and posts to a queue with a limit, at once: it holds, and nothing is lost or doubled', async () => {
    for (const _ of ROUNDS) {
      const { origin, deadLetters } = await withDeadLetters();
      const limited = { lease: 1, 'max-deliveries': 1, 'max-length': 10 };
      await nodes()
        .node(0)
        .destinations.put('queue', origin.name, limited, () => {});
      nodes().node(1).destinations.forget('queue', origin.name);
      let moved = 0;
      const posted = await race(
        SIXTEEN.map((turn) => async () => {
          const node = nodes().node(turn);
          if (turn % 2 === 0) return outcomeOf(post(node, origin, `new ${turn}`));
          const redriven = await node.clearing.redrive(deadLetters, Number.MAX_SAFE_INTEGER);
          moved += redriven.moved;
          return 'redriven';
        }),
      );
      const { ok = 0, 'destination-full': refused = 0 } = tally(posted);
      assert.equal(ok + refused, 8);
      assert.equal(ok + moved, 10, 'it is full');
      assert.equal((await receiveAll(nodes().node(0), origin)).length, 10);
      assert.equal((await receiveAll(nodes().node(0), deadLetters)).length, 16 - moved);
    }
  });

  it('settings against settings: one creates, each later one is a version of its own', async () => {
    const name = nodes().freshName();
    const put = (turn: number, check: (present: Destination | undefined) => void = () => {}) =>
      nodes()
        .node(turn)
        .destinations.put('queue', name, { lease: turn + 1 }, check);
    const outcomes = await race(SIXTEEN.map((turn) => () => put(turn)));
    assert.deepEqual(tally(outcomes.map(({ created }) => created)), { true: 1, false: 15 });
    const versions = outcomes.map(({ destination }) => destination.version);
    assert.deepEqual(
      versions.toSorted((a, b) => a - b),
      range(16).map((n) => n + 1),
    );
    const newest = outcomes.find(({ destination }) => destination.version === 16)?.destination;
    const present = await nodes().node(0).destinations.get('queue', name);
    assert.deepEqual(present.settings, newest?.settings);

    const ifVersion = (version: number) => (found: Destination | undefined) => {
      if (found?.version !== version) throw new Problem('precondition-failed', 'changed meanwhile');
    };
    const conditional = await race(SIXTEEN.map((turn) => () => outcomeOf(put(turn, ifVersion(16)))));
    assert.deepEqual(tally(conditional), { ok: 1, 'precondition-failed': 15 });
  });

  it('naming dead-letter queues at once: no circle closes, and none has a dead-letter queue itself', async () => {
    for (const round of ROUNDS) {
      const names = range(round < 2 ? 2 : 16).map(() => nodes().freshName());
      // In one round all are there before, in the next none, and each names the next of a ring.
      if (round % 2 === 0) for (const name of names) await create(nodes(), 'queue', {}, name);
      const target = (turn: number): string => names[(turn + 1) % names.length] as string;
      const outcomes = await race(
        names.map((name, turn) => () => {
          const settings = { 'dead-letter': target(turn) };
          return outcomeOf(
            nodes()
              .node(turn)
              .destinations.put('queue', name, settings, () => {}),
          );
        }),
      );
      const { ok = 0, invalid = 0 } = tally(outcomes);
      assert.equal(ok + invalid, names.length, JSON.stringify(tally(outcomes)));
      assert.ok(ok > 0, 'the first of them meets nothing');
      for (const [turn, outcome] of outcomes.entries()) {
        if (outcome === 'ok') assert.equal(outcomes[(turn + 1) % names.length], 'invalid', 'its target has none');
      }
    }
  });

  it('deleting one message against taking it: taken or deleted, never both', async () => {
    const queue = await create(nodes(), 'queue');
    await nodes().node(0).posting.put(queue.name, 'one', draft('one'), { wishes: {} });
    const outcomes = await race(
      SIXTEEN.map(
        (turn) => () =>
          outcomeOf(
            nodes()
              .node(turn)
              .remove(queue, 'one', () => {}),
          ),
      ),
    );
    assert.deepEqual(tally(outcomes), { ok: 1, 'message-gone': 15 });
    assert.deepEqual(await receiveAll(nodes().node(0), queue), []);
    assert.equal(
      await nodes().node(1).posting.put(queue.name, 'one', draft('one'), { wishes: {} }),
      false,
      'still remembered',
    );
  });
}
